"""Packs the folders of all registries into archives, and their tables into one. Usage: pack.py FOLDER TARGET"""

import gzip
import io
import pathlib
import sys
import tarfile

LIMIT = 40 * 1024
source, target = map(pathlib.Path, sys.argv[1:])
rows = []
for folder in sorted(path for path in source.iterdir() if path.is_dir()):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for row in sorted((folder / "table.tsv").read_text().splitlines()):
            content = (folder / row.split("\t")[0]).read_bytes()
            assert len(content) <= LIMIT, row
            entry = tarfile.TarInfo(row.split("\t")[0])
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
            rows.append(f"{folder.name}\t{row}\n")
    (target / f"{folder.name}.tar.gz").write_bytes(gzip.compress(packed.getvalue(), 9, mtime=0))
header = "registry\tfile\tproducer\tshows\tverdict\n"
(target / "verdicts.tsv").write_text(header + "".join(rows))
