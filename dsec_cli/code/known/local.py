"""Calls that touch this machine: files, processes, and code that is run from text or data."""

from __future__ import annotations

READ, WRITE, DELETE = "read", "write", "delete"
Use = tuple[str, int, tuple[str, ...]]

OPENS: dict[str, tuple[int, tuple[str, ...], int]] = {
    **dict.fromkeys(
        ("builtins.open", "io.open", "codecs.open", "gzip.open", "bz2.open", "lzma.open", "tarfile.open",
         "zipfile.ZipFile", "aiofiles.open", "h5py.File", "fsspec.open", "smart_open.open", "io.FileIO",
         "wave.open", "anyio.open_file"),
        (0, ("file", "name", "filename", "urlpath", "uri"), 1),
    ),
    "pathlib.Path().open": (-1, (), 0),
}  # fmt: skip
"""Calls with a mode: place and names of the path (-1: the object's own), place of the mode."""

_PATH = ("path", "file", "filename", "fname", "src", "filepath_or_buffer", "io", "f", "source", "dst", "name",
         "path_or_buf", "fp", "database", "top", "save_directory", "excel_writer", "dotenv_path")  # fmt: skip


def _uses(names: str, *uses: tuple[str, int]) -> dict[str, tuple[Use, ...]]:
    return dict.fromkeys(names.split(), tuple((mode, at, _PATH if at < 1 else ("dst",)) for mode, at in uses))


FILES: dict[str, tuple[Use, ...]] = {
    **_uses(
        "os.listdir os.scandir os.walk os.readlink glob.glob glob.iglob numpy.load numpy.loadtxt "
        "numpy.fromfile numpy.genfromtxt numpy.memmap pandas.read_csv pandas.read_json pandas.read_parquet "
        "pandas.read_excel pandas.read_pickle pandas.read_table pandas.read_feather pandas.read_hdf "
        "polars.read_csv polars.read_parquet polars.scan_csv polars.scan_parquet polars.read_json torch.load "
        "joblib.load PIL.Image.open cv2.imread safetensors.torch.load_file safetensors.safe_open "
        "dotenv.load_dotenv dotenv.dotenv_values pyarrow.parquet.read_table soundfile.read librosa.load "
        "linecache.getline tomllib.load_file fitz.open pypdf.PdfReader PyPDF2.PdfReader docx.Document "
        "openpyxl.load_workbook",
        (READ, 0),
    ),
    **_uses(
        "os.mkdir os.makedirs os.chmod os.truncate os.utime numpy.save numpy.savez numpy.savez_compressed "
        "numpy.savetxt joblib.dump cv2.imwrite logging.FileHandler logging.handlers.RotatingFileHandler "
        "matplotlib.pyplot.savefig soundfile.write dotenv.set_key",
        (WRITE, 0),
    ),
    **_uses(
        "os.remove os.unlink os.rmdir os.removedirs shutil.rmtree", (DELETE, 0)
    ),
    **_uses(
        "shutil.copy shutil.copy2 shutil.copyfile shutil.copytree os.link os.symlink shutil.unpack_archive",
        (READ, 0), (WRITE, 1),
    ),
    **_uses("shutil.move os.rename os.replace os.renames", (DELETE, 0), (WRITE, 1)),
    **_uses("sqlite3.connect aiosqlite.connect shelve.open dbm.open", (READ, 0), (WRITE, 0)),
    **_uses("torch.save safetensors.torch.save_file", (WRITE, 1)),
    "torch.save": ((WRITE, 1, ("f",)),),
    "safetensors.torch.save_file": ((WRITE, 1, ("filename",)),),
    "logging.basicConfig": ((WRITE, -2, ("filename",)),),
    "urllib.request.urlretrieve": ((WRITE, 1, ("filename",)),),
}  # fmt: skip
"""What is done with which argument; place -2: by name only."""
FILES["joblib.dump"] = ((WRITE, 1, ("filename",)),)
_LOADERS = "langchain_community.document_loaders."
FILES.update(
    dict.fromkeys(
        (
            f"{_LOADERS}{name}"
            for name in (
                "BSHTMLLoader", "CSVLoader", "DirectoryLoader", "Docx2txtLoader", "JSONLoader", "NotebookLoader",
                "PyMuPDFLoader", "PyPDFDirectoryLoader", "PyPDFLoader", "TextLoader", "UnstructuredFileLoader",
                "UnstructuredHTMLLoader", "UnstructuredMarkdownLoader", "UnstructuredPDFLoader",
            )
        ),
        ((READ, 0, ("file_path", "path")),),
    )
)  # fmt: skip
FILES.update(
    dict.fromkeys(
        (
            f"{package}.Chroma{way}"
            for package in ("langchain_chroma", "langchain_community.vectorstores")
            for way in ("", ".from_documents", ".from_texts")
        ),
        ((READ, -1, ("persist_directory",)), (WRITE, -1, ("persist_directory",))),
    )
)
FILES["llama_index.core.StorageContext.from_defaults"] = ((READ, -1, ("persist_dir",)),)
FILES["crewai.Task"] = FILES["crewai.task.Task"] = ((WRITE, -1, ("output_file",)),)

PATH_METHODS: dict[str, tuple[str, ...]] = {
    "read_text": (READ,), "read_bytes": (READ,), "iterdir": (READ,), "glob": (READ,), "rglob": (READ,),
    "write_text": (WRITE,), "write_bytes": (WRITE,), "touch": (WRITE,), "mkdir": (WRITE,),
    "symlink_to": (WRITE,), "hardlink_to": (WRITE,), "chmod": (WRITE,), "unlink": (DELETE,),
    "rmdir": (DELETE,), "rename": (DELETE,), "replace": (DELETE,),
}  # fmt: skip
"""Methods of `pathlib.Path`."""
TELLING = ("read_text", "read_bytes", "write_text", "write_bytes", "unlink", "rmdir")
"""Names that hardly anything but a path has."""
SAVING = ("to_csv", "to_parquet", "to_excel", "to_pickle", "to_feather", "save_pretrained", "savefig",
          "write_parquet", "write_csv")  # fmt: skip
"""Methods that write where their first argument says, whatever they belong to."""

PROGRAMS: dict[str, tuple[int, tuple[str, ...], bool]] = {
    **dict.fromkeys(
        ("subprocess.run", "subprocess.Popen", "subprocess.call", "subprocess.check_call",
         "subprocess.check_output"), (0, ("args",), False)
    ),
    **dict.fromkeys(
        ("os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput",
         "asyncio.create_subprocess_shell", "pexpect.run", "pexpect.spawn", "invoke.run", "commands.getoutput"),
        (0, ("command", "cmd"), True),
    ),
    **dict.fromkeys(
        ("os.execl", "os.execle", "os.execlp", "os.execv", "os.execve", "os.execvp", "os.execvpe",
         "os.posix_spawn", "os.posix_spawnp", "pty.spawn", "asyncio.create_subprocess_exec"),
        (0, ("path", "file", "program", "argv"), False),
    ),
    **dict.fromkeys(
        ("os.spawnl", "os.spawnle", "os.spawnlp", "os.spawnv", "os.spawnve", "os.spawnvp"), (1, ("file",), False)
    ),
    **dict.fromkeys(
        ("mcp.StdioServerParameters", "mcp.client.stdio.StdioServerParameters", "mcp.stdio.StdioServerParameters"),
        (0, ("command",), False),
    ),
}  # fmt: skip
"""Calls that start a program: place and names of the command, whether a shell reads it."""

CODE: dict[str, int] = {
    "builtins.eval": 0, "builtins.exec": 0, "builtins.compile": 0, "runpy.run_path": 0,
    "runpy.run_module": 0, "code.InteractiveInterpreter().runsource": 0, "code.interact": 0,
    "builtins.execfile": 0, "types.CodeType": 0, "pandas.eval": 0,
}  # fmt: skip
"""Calls that run text as code."""
AGENTS: dict[str, bool] = {
    "autogen.UserProxyAgent": True, "autogen.ConversableAgent": False, "autogen.AssistantAgent": False,
    "autogen.agentchat.UserProxyAgent": True, "autogen.agentchat.ConversableAgent": False,
    "autogen.agentchat.AssistantAgent": False, "smolagents.CodeAgent": True,
    "smolagents.agents.CodeAgent": True,
}  # fmt: skip
"""Agents that run what a model writes, by default or where `code_execution_config` is given."""
DATA: dict[str, int] = {
    "pickle.load": 0, "pickle.loads": 0, "pickle.Unpickler": 0, "dill.load": 0, "dill.loads": 0,
    "cloudpickle.load": 0, "cloudpickle.loads": 0, "joblib.load": 0, "torch.load": 0,
    "pandas.read_pickle": 0, "marshal.loads": 0, "marshal.load": 0, "yaml.load": 0, "yaml.unsafe_load": 0,
    "yaml.load_all": 0, "shelve.open": 0, "numpy.load": 0, "jsonpickle.decode": 0,
}  # fmt: skip
"""Calls that run what the data says while they read it."""
IMPORTS: dict[str, int] = {"importlib.import_module": 0, "builtins.__import__": 0,
                           "importlib.util.spec_from_file_location": 1}  # fmt: skip
"""Calls that import what their argument names."""
