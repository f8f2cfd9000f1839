from b import STAR
from b import STAR as BASE
import requests

requests.get(STAR)
