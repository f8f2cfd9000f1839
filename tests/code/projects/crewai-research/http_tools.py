import aiohttp


async def fetch_page(url: str) -> str:
    """Fetch any page."""
    async with aiohttp.ClientSession() as session:
        async with session.get(url) as answer:
            return await answer.text()
