"""The commands as functions, made of the library's own list: each option is a keyword argument."""
import functools
import io
import json
import keyword
import textwrap

from ._columns import as_list, is_many
from ._library import library
from ._run import run, text_of

# These run other programs on this machine or speak to a shell; the program is the place for them.
_LEFT_OUT = {"completion", "help"}


@functools.lru_cache(maxsize=None)
def listed():
    """The commands by name, as assay_commands() tells them."""
    return {command["name"]: command for command in json.loads(library().assay_commands())
            if command["name"] not in _LEFT_OUT}


def names():
    """The first words of all commands."""
    return sorted({name.split()[0] for name in listed()})


def meant(name, known):
    """What a name that is not known may mean: "did you mean 'search'?", or all that there are."""
    import difflib
    near = difflib.get_close_matches(name, known, 1) if isinstance(name, str) else []
    return f"did you mean {near[0]!r}?" if near else "there are " + ", ".join(known)


def python_name(word):
    """A word of the command line in Python: "gpus-per-node" is gpus_per_node, "from" is from_."""
    name = word.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def _long_names(option):
    return [name for name in option["names"] if name.startswith("--")] or option["names"]


def keywords(option):
    """The keywords of an option: each of its long names."""
    return [python_name(name.lstrip("-")) for name in _long_names(option)]


def argument_name(option):
    """The keyword that help() and signatures show of an option."""
    return keywords(option)[0]


def _has_several(value):
    """Whether a value stands for several words: any iterable but a text, and but a file, whose lines
    nobody means."""
    if isinstance(value, (str, bytes, io.IOBase)) or getattr(value, "ndim", 1) == 0:
        return False
    return is_many(value) or hasattr(value, "__iter__")


def words_of(command, arguments, options):
    """The words of a call. An argument or option may hold many; None is one that is not given."""
    words = command["name"].split()
    for argument in (each for each in arguments if each is not None):
        words += map(text_of, as_list(argument)) if _has_several(argument) else [text_of(argument)]
    # What follows "--" are words of another program's command.
    end = words.index("--") if "--" in words else len(words)
    return words[:end] + option_words(command, options) + words[end:]


def option_words(command, options):
    """The words of a command's options. Each of an option's long names is a keyword."""
    by_keyword = {name: option for option in command["options"] for name in keywords(option)}
    words = []
    for name, value in options.items():
        option = by_keyword.get(name)
        if option is None:
            words += _option_words("--" + name.rstrip("_").replace("_", "-"), value, False)
        else:
            words += _option_words(_long_names(option)[0], value, option["repeatable"])
    return words


def _option_words(name, value, repeatable):
    if getattr(value, "ndim", 1) == 0:
        value = value.item()  # a scalar of NumPy
    if value is None or value is False:
        return []
    if value is True:
        return [name]
    if not _has_several(value):
        return [name, text_of(value)]
    values = list(map(text_of, as_list(value)))
    if repeatable:
        return [word for one in values for word in (name, one)]
    return [name, ",".join(values)]


def _option_text(option):
    head = argument_name(option) if option["names"] else option["argument"]
    what = "" if option["value"] == head else (option["value"] or "True or False") + ". "
    default = f" (default: {option['default']})" if option["default"] else ""
    required = " (required)" if option["required"] else ""
    return textwrap.fill(f"{head}: {what}{option['help']}{default}{required}", 96,
                         initial_indent="    ", subsequent_indent="        ")


def manual(command):
    """The manual page of a command, for help()."""
    parts = [command["summary"][0].upper() + command["summary"][1:] + "."]
    parts += [textwrap.fill(paragraph, 100) for paragraph in command["description"].split("\n\n")]
    shown = [option for option in command["options"] if option["names"] != ["-h", "--help"]]
    positional = [option for option in shown if option["argument"]]
    named = [option for option in shown if option["names"] and not option["argument"]]
    if positional:
        parts.append("Arguments\n" + "\n".join(map(_option_text, positional)))
    if named:
        parts.append("Keyword arguments\n" + "\n".join(map(_option_text, named)))
    parts.append("    progress: a function of (doing, done bytes, total bytes); False stops the call")
    if command["found_means"]:
        parts.append(f"Result.found: {command['found_means']}.")
    parts.append("Returns assay.Result. Raises assay.UsageError, assay.AssayError.")
    if command["examples"]:
        parts.append("As a command\n" + textwrap.indent(command["examples"].rstrip(), "    "))
    return "\n\n".join(parts)


def _signature(command):
    from inspect import Parameter, Signature
    parameters = [Parameter("arguments", Parameter.VAR_POSITIONAL)]
    taken = set()
    for option in command["options"]:
        if not option["names"] or option["argument"] or option["names"] == ["-h", "--help"]:
            continue
        name = argument_name(option)
        if name.isidentifier() and name not in taken:
            taken.add(name)
            default = False if option["kind"] == "none" else None
            parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default))
    parameters.append(Parameter("progress", Parameter.KEYWORD_ONLY, default=None))
    return Signature(parameters)


def _function(command):
    def call(*arguments, progress=None, **options):
        return run(*words_of(command, arguments, options), progress=progress)

    call.__name__ = python_name(command["name"].split()[-1])
    call.__qualname__ = call.__name__
    call.__module__ = "assay"
    call.__doc__ = manual(command)
    call.__signature__ = _signature(command)
    return call


class Group:
    """Commands under one word: assay.plan.search, assay.plan.estimate."""

    def __init__(self, name, below):
        self.__name__ = name
        self.__doc__ = "Commands of `assay " + name + "`:\n\n" + "\n".join(
            f"    {python_name(other.split()[-1])}: {listed()[other]['summary']}"
            for other in below)

    def _names(self):
        return sorted(name for name in vars(self) if not name.startswith("_"))

    def __getattr__(self, name):
        raise AttributeError(f"assay.{self.__name__} has no {name!r}; "
                             + meant(name, self._names()))

    def __repr__(self):
        return f"<assay.{self.__name__}: {', '.join(self._names())}>"


def add_commands(holder, name):
    """Makes functions of the commands below a word, as attributes."""
    for other, command in listed().items():
        words = other.split()
        if len(words) == 2 and words[0] == name:
            setattr(holder, python_name(words[1]), _function(command))
    return holder


def command(name):
    """The function or group of a first word; None if there is none."""
    below = [other for other in listed() if other.split()[0] == name and " " in other]
    if name in listed():
        return add_commands(_function(listed()[name]), name)
    return add_commands(Group(name, below), name) if below else None
