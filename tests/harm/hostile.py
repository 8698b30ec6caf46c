"""Hostile spellings of a name, and what no output may make of them."""
import base64
import csv
import gzip
import html.parser
import io
import json
import os
import re
import stat
import zipfile
from xml.etree import ElementTree

# Names that lead elsewhere, were they part of a path.
PATHS = [
    b'..', b'.', b'...', b'', b'/', b'//', b'../pwned', b'../../pwned', b'a/../../pwned', b'./x',
    b'a/b', b'a//b', b'/tmp/assay-pwned', b'/etc/passwd', b'~', b'~/pwned', b'$HOME/pwned',
    b'.hidden', b'..x/../y', b'x/', b'/x/', b'x/..', b'\\x/..', b'..\\..\\pwned',
    b'../' * 40 + b'pwned', b'CON',
]
# Names that an output in another language could take for more than a text.
WORDS = [
    b'-rf', b'--help', b'-o', b'x; touch pwned', b'`touch pwned`', b'$(touch pwned)',
    b'x|touch pwned', b'x & touch pwned &', b"'; touch pwned; '", b'"; touch pwned; "', b"x' 'y",
    b'x"y', b"'", b'"', b'%n%s%p', b'%s%n', b'{{x}}', b'{dir}', b'{setting}', b'${x}', b'@STYLE@',
    b'@DATA@', b'@x', b'^x_y', b'{/:Bold=80 x}', b'x\\', b'\\n', b'\\"',
    b"x'.system('touch pwned').'", b'x".system("touch pwned")."', b"x'\nsystem 'touch pwned'\n#",
    b'x"\n!touch pwned\n#', b'\nEND\nsystem "touch pwned"\n', b'</script><script>alert(1)</script>',
    b'<script>alert(1)</script>', b'"><img src=x onerror=alert(1)>', b"' onmouseover='alert(1)",
    b'<svg/onload=alert(1)>', b'<!--', b'-->', b']]>', b'<![CDATA[x', b'&#x3C;b&#x3E;',
    b'&lt;b&gt;', b'&amp;', b'<a href="javascript:alert(1)">x</a>', b'*/ x /*', b'??/',
    b"=cmd|' /C calc'!A0", b'=1+1', b'+1+1', b'-1+1', b'@SUM(1,1)', b'\t=1+1', b'\r=1+1', b' =1+1',
    b'\n=1+1', b'=HYPERLINK("http://x.invalid","x")', b'http://x.invalid/', b'mailto:x@x.invalid',
    b'{=1+1}', b'[x]:*?/\\', b'History', b"'quoted'", b'_x0041_', b'_x005F_x0041_', b'A1', b'a,b',
    b'a;b', b'a","b', b'x","y":{"z":"', b'#REF!', b'n' * 32, b'n' * 300, b'n' * 5000, b'0', b'null',
    b'nan', b'true',
]
# Names with what terminals obey, with what is no UTF-8, or with what shows as another name.
BYTES = [
    b'x\ny', b'x\ty', b'x\ry', b'x\r\ny', b'\x01', b'x\x07y', b'x\x08\x08y', b'x\x7fy',
    b'x\x1b[2Jy', b'x\x1b[41my', b'x\x1b]0;title\x07y', b'x\x1bPq\x1b\\y', b'x\xc2\x9b2Jy',
    b'x\xc2\x85y', b'x\x9b2Jy', b'\x80', b'x\xff\xfey', b'x\xc0\xafy', b'x\xed\xa0\x80y',
    b'x\xf4\x90\x80\x80y', b'x\xe2\x82', b'x\xf0\x9f', 'x\u2028y\u2029'.encode(),
    'x\u202egpj.exe'.encode(), 'x\u2066y\u2069'.encode(), 'x\u200by\u200d'.encode(),
    '\ufeffx'.encode(), '\ufffe\uffff'.encode(), 'e\u0301\u0301\u0301'.encode(),
    '\u0645\u0631'.encode(), '\U0001f9e8'.encode(), '\uff1cscript\uff1e'.encode(),
]
ALL = PATHS + WORDS + BYTES
# JSON can spell what no UTF-8 can.
JSON_ESCAPES = [b'"x\\ud800y"', b'"x\\udc00\\ud800"', b'"\\u001b[2J"', b'"\\u009b2J"',
                b'"\\ud83e\\udde8"', b'"\\u003c/script\\u003e"', b'"\\u202ex"']
# Only these can stand in an argument that must be UTF-8.
TEXTS = [name for name in ALL if name.decode(errors='replace').encode() == name]

OWN_ESCAPES = re.compile(r'\r?\x1b\[(?:K|0?m|1m|3[13]m|38;5;\d+m|4;38;5;244m)')
CONTROL = re.compile('[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]')
FORMULA = '=+-@\t\r'
CELLS = re.compile(r"(\w+|'[\w ]+')!\$[A-Z]+\$\d+(:\$[A-Z]+\$\d+)?")
BAD_XML = re.compile('[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]')
# What gnuplot writes.
SVG = {'svg', 'title', 'desc', 'defs', 'g', 'path', 'rect', 'circle', 'text', 'tspan', 'use',
       'pattern', 'polygon', 'line', 'clipPath', 'linearGradient', 'stop', 'filter', 'feFlood',
       'feComposite'}


def json_text(name):
    """The name as a JSON string whose other bytes are as they are, as profilers write them."""
    escaped = bytearray()
    for byte in name:
        if byte in b'"\\':
            escaped += b'\\'
        escaped += bytes([byte]) if byte >= 0x20 else b'\\u%04x' % byte
    return b'"' + bytes(escaped) + b'"'


def json_names():
    return [json_text(name) for name in ALL] + JSON_ESCAPES


def json_bytes(value):
    """JSON in which bytes stand for themselves: they are JSON already."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, dict):
        return b'{' + b','.join(json_bytes(key) + b':' + json_bytes(item)
                                for key, item in value.items()) + b'}'
    if isinstance(value, (list, tuple)):
        return b'[' + b','.join(map(json_bytes, value)) + b']'
    return json.dumps(value).encode()


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


class Page(html.parser.HTMLParser):
    """The tags and attributes of a page, and its scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.scripts = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, sorted(name for name, _ in attrs)))

    def handle_data(self, data):
        if self.cdata_elem == 'script':
            self.scripts.append(data)


def problems_of_terminal(output, where):
    text = OWN_ESCAPES.sub('', output.decode(errors='replace').replace('\r\n', '\n'))
    found = CONTROL.search(text)
    if found is None:
        return []
    return [f'{where}: {found.group()!r} in {text[max(0, found.start() - 60):found.end() + 20]!r}']


def problems_of_csv(text):
    for row in csv.reader(io.StringIO(text, newline='')):
        for cell in row:
            if cell[:1] in FORMULA and len(cell) > 1 and not is_number(cell):
                yield f'a formula: {cell[:40]!r}'


def problems_of_xml(data, name):
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError as error:
        yield f'{name}: {error}'
        return
    for element in root.iter():
        tag = element.tag.split('}')[-1]
        if tag in ('hyperlink', 'oleObject', 'ddeLink', 'script', 'foreignObject'):
            yield f'{name}: an element {tag}: {element.text}'
        if tag == 'f' and not ('charts/' in name and CELLS.fullmatch(element.text)):
            yield f'{name}: a formula: {element.text}'
        if name.endswith('.svg') and tag not in SVG:
            yield f'{name}: an element {tag}'
        for attribute, value in element.items():
            if re.match('on.', attribute) and name.endswith('.svg') or 'javascript:' in value:
                yield f'{name}: an attribute {attribute}={value}'
        if element.text and BAD_XML.search(element.text):
            yield f'{name}: {element.text!r}'


def problems_of_xlsx(path):
    with zipfile.ZipFile(path) as book:
        for name in book.namelist():
            if re.search(r'externalLink|macro|vba|embeddings', name, re.IGNORECASE):
                yield f'a part {name}'
            yield from problems_of_xml(book.read(name), name)


def problems_of_page(text, tags):
    page = Page(text)
    if tags is not None and page.tags != tags:
        yield f'tags {[tag for tag in page.tags if tag not in tags]}'
    for script in page.scripts:
        if '</' in script and '@' not in script:
            yield 'a closing tag in a script'


def unpacked_page(text):
    """The data of a page, which are packed; its program is left out."""
    packed = re.findall(r'<script type="text/plain" id="(?!program)[^"]*">([^<]*)</script>', text)
    return '\n'.join(gzip.decompress(base64.b64decode(part)).decode() for part in packed)


def problems_of_file(path, tags=None):
    """What is wrong with an output, by its ending. `tags` are those of a page of harmless names."""
    data = path.read_bytes()
    if path.suffix == '.xlsx':
        yield from problems_of_xlsx(path)
        return
    if path.suffix in ('.png', '.gz', '.parquet', '.bin', '.db'):
        return
    if path.name.endswith('_perf.txt'):  # measured data, which keeps the bytes that it has
        yield from problems_of_csv(data.decode(errors='replace'))
        return
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        yield str(error)
        return
    if path.suffix == '.json':
        json.loads(text)
    elif path.suffix == '.csv':
        yield from problems_of_csv(text)
    elif path.suffix == '.svg':
        yield from problems_of_xml(data, path.name)
    elif path.suffix == '.html':
        yield from problems_of_page(text, tags)
    else:
        yield from problems_of_terminal(data, path.name)


def snapshot(folder, *, without):
    """Every path in the folder, and sizes and times of files, but not those that may change."""
    found = {}
    for place, folders, files in os.walk(os.fsencode(folder)):
        for name in folders + files:
            path = os.path.join(place, name)
            mine = os.fsencode(without)
            if path == mine or path.startswith(mine + b'/') or mine.startswith(path + b'/'):
                continue
            about = os.lstat(path)
            folder = stat.S_ISDIR(about.st_mode)
            found[path] = about.st_mode if folder else (about.st_size, about.st_mtime_ns)
    return found
