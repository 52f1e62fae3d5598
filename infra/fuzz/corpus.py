"""Reads and writes the corpus of a fuzz target: a text file with one input a line, sorted.

Spaces, `%` and all bytes that are not printable ASCII are percent-encoded.
"""

import argparse
import pathlib
import string
import urllib.parse

CORPUS = pathlib.Path(__file__).parent / "corpus"
PLAIN = string.punctuation.replace("%", "")


def inputs(file):
    return [urllib.parse.unquote_to_bytes(line) for line in file.read_bytes().splitlines()]


def write(file, found):
    lines = {urllib.parse.quote_from_bytes(data, safe=PLAIN) for data in found}
    file.write_bytes("".join(f"{line}\n" for line in sorted(lines)).encode())


def main():
    parser = argparse.ArgumentParser(description="Converts between a target's corpus and files with one input each.")
    commands = parser.add_subparsers(dest="command", required=True)
    unpack = commands.add_parser("unpack", help="write each input to a file, whose name is the number of the line")
    unpack.add_argument("target")
    unpack.add_argument("folder", type=pathlib.Path)
    add = commands.add_parser("add", help="add inputs; without files, only sort and encode the corpus")
    add.add_argument("target")
    add.add_argument("files", type=pathlib.Path, nargs="*")
    arguments = parser.parse_args()

    file = CORPUS / f"{arguments.target}.txt"
    if arguments.command == "unpack":
        for number, data in enumerate(inputs(file), 1):
            (arguments.folder / str(number)).write_bytes(data)
    else:
        known = inputs(file) if file.exists() else []
        write(file, known + [path.read_bytes() for path in arguments.files])


if __name__ == "__main__":
    main()
