// Bundles the program and the styles of the pages into a C++ source with their bytes.
//
// usage: node build.mjs FOLDER/node_modules OUTPUT.cc
import {createRequire} from 'node:module';
import {readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';
import {gzipSync} from 'node:zlib';

const [modules, output] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(pathToFileURL(join(modules, 'x.js')));
const esbuild = require('esbuild');

async function bundle(entry) {
  const result = await esbuild.build({
    entryPoints: [join(here, entry)], bundle: true, minify: true, write: false, format: 'iife',
    target: ['chrome90', 'firefox113', 'safari16.4'], charset: 'utf8', legalComments: 'eof',
    nodePaths: [modules], logLevel: 'warning',
  });
  return result.outputFiles[0].text;
}

// The licences of what is bundled have to go where the bundle goes.
function licences() {
  const names = ['echarts', 'zrender', 'tslib', 'tabulator-tables'];
  const texts = names.map(name => {
    const folder = join(modules, name);
    const {version, license} = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = name === 'tslib' ? 'LICENSE.txt' : 'LICENSE';
    // Of the Apache licence its name is enough; the others want their text.
    const text = license === 'Apache-2.0' ? 'Apache-2.0, https://www.apache.org/licenses/LICENSE-2.0'
      : readFileSync(join(folder, file), 'utf8').trim();
    return `${name} ${version}: ${text}`;
  });
  return texts.join('\n\n').replaceAll('*/', '* /');
}

// A string literal may have 65,535 characters at least; a compiler joins neighbours.
function literal(name, text) {
  const lines = [];
  for (let at = 0; at < text.length; at += 4000) lines.push(JSON.stringify(text.slice(at, at + 4000)));
  return `const std::string_view ${name} =\n    ${lines.join('\n    ')};\n`;
}

const [program, styles] = [await bundle('main.js'), await bundle('page.css')];
const packed = gzipSync(Buffer.from(`/*! ${licences()} */\n${program}`), {level: 9}).toString('base64');
// The bytes of a string literal: those of UTF-8 above 127 as octal, which nothing can prolong.
const ascii = text => text.replace(/[^\x00-\x7f]/gu, c => '\\' + c.codePointAt(0).toString(16) + ' ');
writeFileSync(output, `// Made by build.mjs.
#include "report/page_program.h"

namespace assay::report {

${literal('kPageProgram', packed)}
${literal('kPageStyles', ascii(styles))}
}  // namespace assay::report
`);
console.log(`page: program ${program.length} bytes, ${packed.length} packed; styles ${styles.length}`);
