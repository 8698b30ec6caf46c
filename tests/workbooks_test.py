#!/usr/bin/env python3
"""Opens every workbook of an analysis and a comparison in LibreOffice and reads the values back.

Usage: workbooks_test.py ASSAY SAMPLES. Exit code 77: LibreOffice is not installed.
"""

import csv
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

# Comma, quotes, UTF-8, from row 1, values rather than what the cells show, one file a sheet.
CSV_FILTER = 'csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,-1'
LONGEST_CELL = 32767  # characters; Excel's limit
SIGNIFICANT = 1e-13  # workbooks hold 16 digits
SMALLEST = 1e-19  # LibreOffice's CSV shows 20 decimals


def rows_of(path):
    csv.field_size_limit(1 << 30)
    with open(path, newline='', encoding='utf-8') as file:
        return list(csv.reader(file))


def same(ours, read):
    if ours == read:
        return True
    if ours in ('True', 'False'):
        return read.upper() == ours.upper()
    try:
        a, b = float(ours), float(read)
    except ValueError:
        # Texts longer than a cell may be are cut, with a mark.
        return len(ours) > LONGEST_CELL and read.startswith(ours[:1000])
    return math.isclose(a, b, rel_tol=SIGNIFICANT, abs_tol=SMALLEST)


def below_opening(expected, read):
    """Some sheets open with text and a chart: the table begins at its header."""
    width = len(expected[0])
    for number, row in enumerate(read):
        if row[:width] == expected[0]:
            return read[number:]
    return read


def compare_sheet(expected, read, name):
    """Differences of one sheet as texts."""
    read = below_opening(expected, read)
    if len(expected) != len(read):
        return [f'{name}: {len(read)} rows instead of {len(expected)}']
    found = []
    for number, (ours, theirs) in enumerate(zip(expected, read), 1):
        theirs = theirs[:len(ours)] + [''] * (len(ours) - len(theirs))
        for column, (a, b) in enumerate(zip(ours, theirs)):
            if not same(a, b):
                found.append(f'{name} row {number} "{expected[0][column]}": {b[:80]!r}, not {a[:80]!r}')
    return found


def check_workbook(workbook, scratch):
    """Differences between a workbook, as LibreOffice reads it, and its CSV twins."""
    profile = scratch / 'profile'
    out = scratch / workbook.stem
    subprocess.run(
        ['soffice', f'-env:UserInstallation={profile.as_uri()}', '--headless', '--convert-to',
         CSV_FILTER, '--outdir', str(out), str(workbook)],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
    twins = sorted(workbook.with_name(workbook.stem + '_csvs').glob('*.csv'))
    found = [] if twins else [f'{workbook.name}: no CSV twins']
    for twin in twins:
        sheet = out / f'{workbook.stem}-{twin.stem}.csv'
        if not sheet.exists():
            found.append(f'{workbook.name}: no sheet {twin.stem}')
        else:
            found += compare_sheet(rows_of(twin), rows_of(sheet), f'{workbook.name}:{twin.stem}')
    return found, len(twins)


def main():
    assay, samples = sys.argv[1], pathlib.Path(sys.argv[2])
    if shutil.which('soffice') is None:
        print('LibreOffice (soffice) is not installed')
        return 77
    with tempfile.TemporaryDirectory(prefix='assay_workbooks_') as folder:
        scratch = pathlib.Path(folder)
        runs = {name: samples / name for name in ('ctas_default', 'ctas_16')}
        for name, run in runs.items():
            subprocess.run([assay, 'trace', 'analyze', run, '-o', scratch / name, '--quiet'],
                           check=True, stderr=subprocess.DEVNULL)
        subprocess.run(
            [assay, 'trace', 'compare', '--baseline', runs['ctas_default'], '--test',
             runs['ctas_16'], '--output', scratch / 'comparison', '--quiet'],
            check=True, stderr=subprocess.DEVNULL)
        workbooks = sorted(path for path in scratch.rglob('*.xlsx')
                           if 'rank1' not in path.name and 'ctas_16' not in path.parts)
        differences = []
        for workbook in workbooks:
            found, sheets = check_workbook(workbook, scratch / 'read')
            print(f'{workbook.relative_to(scratch)}: {sheets} sheets, {len(found)} differences')
            differences += found
        for difference in differences[:20]:
            print(difference)
        return 1 if differences or len(workbooks) < 8 else 0


if __name__ == '__main__':
    sys.exit(main())
