// The HTML pages in headless Chromium: a page of every kind of chart with hostile texts and 100,000
// rows, and the pages that the commands make of the samples.
//
// usage: ASSAY=PROGRAM SAMPLE_PAGE=PROGRAM NODE_MODULES=FOLDER node page_test.mjs
// exit status: 0 good, 77 skipped, else failed. With PAGE_SHOTS=FOLDER it leaves pictures there.
import assert from 'node:assert/strict';
import {execFileSync, spawnSync} from 'node:child_process';
import {existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {after, before, describe, test} from 'node:test';
import {fileURLToPath, pathToFileURL} from 'node:url';

const require = createRequire(join(process.env.NODE_MODULES, 'x.js'));
const {chromium} = require('playwright-core');
const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const browserPath = BROWSERS.find(existsSync);
if (!browserPath) {
  console.log('no Chromium here: ./dev test installs it');
  process.exit(77);
}

const samples = join(dirname(fileURLToPath(import.meta.url)), '../../samples');
const folder = mkdtempSync(join(tmpdir(), 'assay-page-'));
const shots = process.env.PAGE_SHOTS;
const WIDE = {width: 1200, height: 900};
const PHONE = {width: 390, height: 844};
let browser;

function assay(...words) {
  const done = spawnSync(process.env.ASSAY, words, {encoding: 'utf8'});
  assert.equal(done.status, 0, done.stderr);
}

before(async () => {
  execFileSync(process.env.SAMPLE_PAGE, [folder]);
  assay('trace', 'compare', '--baseline', join(samples, 'traces-2gpu/ctas_default'), '--test',
    join(samples, 'traces-2gpu/ctas_16'), '-o', join(folder, 'compared'), '--html', join(folder, 'compared.html'), '-q');
  assay('sweep', 'report', join(samples, 'sweep-nccl-ctas'), '--baseline', 'default', '-o', join(folder, 'sweep'), '-q');
  const setting = (name, run) => join(samples, 'sweep-nccl-ctas', name, run);
  assay('trace', 'compare', '--baseline', setting('default', 'repeat1'), '--test', setting('8cta_512threads', 'repeat1'),
    setting('32cta_512threads', 'repeat1'), setting('default', 'repeat2'), '--labels', 'default,8cta,32cta,again',
    '-o', join(folder, 'several'), '--write', 'xlsx', '-q');
  assay('allreduce', 'plot', join(samples, 'allreduce-h200'), '--write', 'html', '--html', join(folder, 'allreduce.html'), '-q');
  assay('plan', 'search', '--model', 'qwen3-30b-a3b', '--gpus', '4', '--ttft', '500', '--tpot', '12', '--html', join(folder, 'plan.html'), '-q');
  const network = join(dirname(samples), 'tests/golden/simulate/network/in');
  assay('simulate', join(network, 'job.goal'), '--network', join(network, 'leaf_spine.yaml'), '--html', join(folder, 'network.html'), '-q');
  const parts = join(dirname(samples), 'tests/golden/simulate/study/in');
  writeFileSync(join(folder, 'study.yaml'), `jobs: [{name: pairs, files: [${parts}/pairs4.goal, ${parts}/pairs8.goal]}]
networks: [{file: ${parts}/full.yaml}, {file: ${parts}/half.yaml}]
failures: [{name: none}, {name: a spine with half of its bandwidth, changes: [{switch: spine1, bandwidth: 50 %}]}]
seeds: [1, 2, 3]
`);
  assay('simulate', '--study', join(folder, 'study.yaml'), '-o', join(folder, 'study'), '-q');
  const root = process.getuid?.() === 0;
  browser = await chromium.launch({executablePath: browserPath, args: root ? ['--no-sandbox'] : []});
});

after(async () => {
  await browser?.close();
  rmSync(folder, {recursive: true, force: true});
});

const SAMPLE = () => join(folder, 'sample.html');
const PAGES = () => ({sample: SAMPLE(), compared: join(folder, 'compared.html'),
  sweep: join(folder, 'sweep/sweep_report.html'), several: join(folder, 'several/final_analysis_report_for_all.html'), allreduce: join(folder, 'allreduce.html'),
  plan: join(folder, 'plan.html'), network: join(folder, 'network.html'), study: join(folder, 'study/study.html')});

// Opens a page from its file; what it says on its console and what it asks of a network fail the test.
async function open(path, {viewport = WIDE, hash = '', ...more} = {}) {
  const context = await browser.newContext({viewport, acceptDownloads: true, ...more});
  const page = await context.newPage();
  const said = [];
  page.on('console', message => said.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', error => said.push(error.stack));
  page.on('request', request => { if (!/^(file|blob|data):/.test(request.url())) said.push('asked for ' + request.url()); });
  await page.goto(pathToFileURL(path).href + hash);
  await page.waitForSelector('html[data-ready]');
  await settled(page);
  page.done = async () => {
    assert.deepEqual(said, []);
    await context.close();
  };
  return page;
}

async function settled(page) {
  await page.waitForFunction(() => window.assayPage && window.assayPage.isQuiet());
  await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
}

// Runs in the page. Returns what is wrong with the texts: cut at the edge of their chart, over one
// another, smaller than 11 pixels, or wider than the page.
function textProblems() {
  const problems = [];
  for (const {card, chart, root} of window.assayPage.cards.values()) {
    if (!chart || root.hidden || !chart.instance) continue;
    const [width, height] = [chart.instance.getWidth(), chart.instance.getHeight()];
    const texts = [];
    for (const shape of chart.instance.getZr().storage.getDisplayList(true)) {
      if (shape.type !== 'tspan' || shape.ignore || shape.invisible || !shape.style.text.trim()) continue;
      const box = shape.getBoundingRect().clone();
      const transform = shape.getComputedTransform();
      if (transform) box.applyTransform(transform);
      const size = /(\d+(\.\d+)?)px/.exec(shape.style.font);
      if (size && +size[1] < 11) problems.push(`${card.id}: '${shape.style.text}' has ${size[0]}`);
      if (box.x < -1 || box.y < -1 || box.x + box.width > width + 1.5 || box.y + box.height > height + 1)
        problems.push(`${card.id}: '${shape.style.text}' is cut at ${Math.round(box.x)},${Math.round(box.y)} of ${width}x${height}`);
      texts.push({text: shape.style.text, box});
    }
    for (let i = 0; i < texts.length; ++i)
      for (let j = i + 1; j < texts.length; ++j) {
        const [a, b] = [texts[i].box, texts[j].box];
        const across = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
        const down = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
        if (across > 1.5 && down > 3) problems.push(`${card.id}: '${texts[i].text}' and '${texts[j].text}' overlap`);
      }
  }
  if (document.documentElement.scrollWidth > innerWidth) problems.push(`the page is ${document.documentElement.scrollWidth} wide`);
  for (const one of document.querySelectorAll('h1, h2, h3, p, li, button, summary, label, .key > *, .short, .note')) {
    const box = one.getBoundingClientRect();
    if (box.width && (box.right > innerWidth + 1 || one.scrollWidth > one.clientWidth + 2 && one.clientWidth > 0 && getComputedStyle(one).display !== 'inline'))
      problems.push(`'${one.textContent.slice(0, 60)}' leaves the page or its box`);
  }
  return problems;
}

const sheet = id => `#card-${id}`;
const cells = (page, id, field) => page.$$eval(`${sheet(id)} .tabulator-row .tabulator-cell[tabulator-field="${field}"]`,
  all => all.map(one => one.textContent));
const shown = (page, id) => page.textContent(`${sheet(id)} .count`);

async function openLarge(page) {
  await page.click(`${sheet('large')} > summary`);
  await page.waitForSelector(`${sheet('large')} .tabulator-row`);
}

describe('every page', () => {
  for (const [name, viewport] of [['1200', WIDE], ['390', PHONE]])
    for (const colorScheme of ['light', 'dark'])
      test(`shows its texts whole and apart at ${name} px, ${colorScheme}`, async () => {
        for (const [title, path] of Object.entries(PAGES())) {
          const page = await open(path, {viewport, colorScheme});
          if (shots) {
            mkdirSync(shots, {recursive: true});
            await page.screenshot({path: join(shots, `${title}-${name}-${colorScheme}.png`), fullPage: true});
          }
          assert.deepEqual(await page.evaluate(textProblems), [], title);
          await page.done();
        }
      });

  test('says its answer without a program', async () => {
    for (const path of Object.values(PAGES())) {
      const context = await browser.newContext({javaScriptEnabled: false});
      const page = await context.newPage();
      await page.goto(pathToFileURL(path).href);
      assert.ok((await page.textContent('h1')).length > 20);
      await context.close();
    }
  });

  test('is at most 4 MB and names no address', () => {
    for (const path of [PAGES().compared, PAGES().sweep, PAGES().allreduce]) {
      assert.ok(statSync(path).size < 4e6, path);
      assert.doesNotMatch(readFileSync(path, 'utf8').replace(/<script type="text\/plain"[^]*?<\/script>/g, ''), /https?:\/\//);
    }
  });

  test('prints the answer and charts within A4', async () => {
    for (const path of Object.values(PAGES())) {
      const page = await open(path);
      const pdf = await page.pdf({format: 'A4', printBackground: true});
      assert.ok(pdf.length > 20000);
      if (shots) await page.pdf({format: 'A4', printBackground: true, path: join(shots, path.split('/').at(-1) + '.pdf')});
      await page.done();
    }
  });
});

describe('texts', () => {
  test('of an input act nowhere', async () => {
    const page = await open(SAMPLE());
    await openLarge(page);
    await page.hover('#card-ranking .chart');
    assert.equal(await page.evaluate(() => window.broken), undefined);
    assert.equal(await page.$('img'), null);
    assert.match(await page.textContent('h1'), /<\/script>/);
    assert.ok((await cells(page, 'verdicts', 'c0')).some(text => text.includes('onerror=')));
    await page.done();
  });
});

describe('a table of 100,000 rows', () => {
  test('opens, sorts, filters and is searched without lag', async t => {
    const page = await open(SAMPLE());
    const timed = async (name, most_ms, action) => {
      const start = Date.now();
      await action();
      const took = Date.now() - start;
      t.diagnostic(`${name}: ${took} ms`);
      // The machine of a test may be busy, so that the limit is several times what it takes.
      assert.ok(took < most_ms, `${name} took ${took} ms`);
    };
    await timed('open', 8000, () => openLarge(page));
    const header = field => `${sheet('large')} .tabulator-col[tabulator-field="${field}"]`;
    await timed('sort numbers', 5000, async () => {
      await page.click(header('c2') + ' .tabulator-col-title');
      await page.waitForSelector(header('c2') + '[aria-sort="ascending"]');
    });
    const numbers = (await cells(page, 'large', 'c2')).map(Number);
    assert.ok(numbers.length > 5 && numbers.every((value, i) => !i || value >= numbers[i - 1]), String(numbers));
    await timed('sort texts', 5000, async () => {
      await page.click(header('c0') + ' .tabulator-col-title');
      await page.waitForSelector(header('c0') + '[aria-sort="ascending"]');
    });
    // Numbers in names count as numbers.
    assert.equal((await cells(page, 'large', 'c0'))[0], 'kernel_0');
    await timed('filter', 5000, async () => {
      await page.fill(header('c1') + ' input', '>=6');
      await page.waitForFunction(id => /^25000 of 100000/.test(document.querySelector(`#card-${id} .count`).textContent), 'large');
    });
    assert.ok((await cells(page, 'large', 'c1')).every(text => Number(text) >= 6));
    await timed('search', 8000, async () => {
      await page.fill('#search', 'kernel_4999');
      await page.waitForFunction(id => / of 100000/.test(document.querySelector(`#card-${id} .count`).textContent) &&
        document.querySelector(`#card-${id} .count`).textContent !== '25000 of 100000 rows', 'large');
    });
    await settled(page);
    assert.ok((await cells(page, 'large', 'c0')).every(text => text === 'kernel_4999'));
    // Few rows are in the document, however many there are.
    await page.fill('#search', '');
    await settled(page);
    assert.ok((await page.$$(`${sheet('large')} .tabulator-row`)).length < 120);
    await page.done();
  });

  test('has filters of texts and ranges', async () => {
    const page = await open(SAMPLE());
    const input = `${sheet('verdicts')} .tabulator-col[tabulator-field="c1"] input`;
    for (const [typed, count] of [['>0', '1 of 3'], ['-30..0', '1 of 3'], ['!1.25', '2 of 3'], ['=1.25', '1 of 3'], ['', '3 rows']]) {
      await page.fill(input, typed);
      await settled(page);
      assert.ok((await shown(page, 'verdicts')).startsWith(count), `${typed}: ${await shown(page, 'verdicts')}`);
    }
    await page.done();
  });

  test('is saved as CSV with all digits', async () => {
    const page = await open(SAMPLE());
    const [download] = await Promise.all([page.waitForEvent('download'), page.click(`${sheet('verdicts')} button:text("Save as CSV")`)]);
    const text = readFileSync(await download.path(), 'utf8');
    assert.ok(text.startsWith('setting,change (%),verdict\r\nplain,1.25,Better\r\n'), text.slice(0, 80));
    assert.match(text, /"<\/script>/);
    await page.done();
  });
});

describe('the address', () => {
  test('keeps choice, sorting, filter and zoom', async () => {
    const page = await open(SAMPLE());
    await page.selectOption('#choice-0', '4cta');
    await page.click(`${sheet('verdicts')} .tabulator-col[tabulator-field="c1"] .tabulator-col-title`);
    await page.fill(`${sheet('verdicts')} .tabulator-col[tabulator-field="c0"] input`, 'r');
    await page.click('#card-timeline .tools button[aria-label^="Zoom in"]');
    await settled(page);
    const hash = await page.evaluate(() => location.hash);
    await page.done();
    const again = await open(SAMPLE(), {hash});
    assert.equal(await again.inputValue('#choice-0'), '4cta');
    assert.ok(await again.isVisible('#card-composition-4cta'));
    assert.ok(!await again.isVisible('#card-composition'));
    await again.waitForSelector(`${sheet('verdicts')} .tabulator-col[tabulator-field="c1"][aria-sort="ascending"]`);
    assert.match(await shown(again, 'verdicts'), /2 of 3/);
    const zoom = await again.evaluate(() => window.assayPage.cards.get('timeline').chart.zoom.x);
    assert.deepEqual(zoom, [20, 80]);
    await again.done();
  });

  test('leads to the rows of a reason', async () => {
    const page = await open(SAMPLE());
    await page.click('#answer a[href="#card=large"]');
    await page.waitForSelector(`${sheet('large')}[open] .tabulator-row`);
    assert.equal(await page.evaluate(() => document.activeElement.closest('details').id), 'card-large');
    const top = await page.$eval(sheet('large'), one => one.getBoundingClientRect().top);
    const bar = await page.$eval('#bar', one => one.getBoundingClientRect().bottom);
    assert.ok(top >= bar - 1, 'the bar hides what was linked');
    await page.done();
  });
});

describe('charts', () => {
  test('zoom by button, key and wheel, and go back', async () => {
    const page = await open(SAMPLE());
    const zoom = () => page.evaluate(() => window.assayPage.cards.get('bandwidth').chart.zoom);
    await page.click('#card-bandwidth .tools button[aria-label^="Zoom in"]');
    assert.deepEqual((await zoom()).x, [20, 80]);
    await page.focus('#card-bandwidth .chart');
    await page.keyboard.press('+');
    assert.ok((await zoom()).x[0] > 20);
    await page.keyboard.press('0');
    assert.deepEqual((await zoom()).x, [0, 100]);
    await page.locator('#card-bandwidth .chart').scrollIntoViewIfNeeded();
    const box = await (await page.$('#card-bandwidth .chart')).boundingBox();
    await page.mouse.move(box.x + 300, box.y + 150);
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -300);
    await page.keyboard.up('Control');
    await settled(page);
    const {x} = await zoom();
    assert.ok(x[1] - x[0] < 100, String(x));
    await page.done();
  });

  test('are read by arrow keys, and as a table', async () => {
    const page = await open(SAMPLE());
    await page.focus('#card-steps .chart');
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown']) await page.keyboard.press(key);
    assert.match(await page.textContent('#card-steps .reading'), /rank 1, step 6/);
    assert.match(await page.textContent('#card-steps .reading'), /before/);
    await page.click('#card-ranking button:text("Values")');
    assert.match(await page.textContent('#card-ranking .values'), /32cta_512threads/);
    await page.$eval('#card-attribution .tools button', button => button.click());
    assert.match(await page.textContent('#card-attribution .values'), /other0\.3901\.20parts below 0\.1 ms each004cta/);
    await page.done();
  });

  test('tell a value where the mouse is', async () => {
    const page = await open(SAMPLE());
    await page.locator('#card-composition .chart').scrollIntoViewIfNeeded();
    const box = await (await page.$('#card-composition .chart')).boundingBox();
    await page.mouse.move(box.x + box.width / 3, box.y + 20);
    await page.waitForSelector('.tip');
    assert.match(await page.textContent('.tip'), /rank 0.*computation: 25/s);
    await page.done();
  });

  test('tell more curves apart than there are colours', async () => {
    const page = await open(SAMPLE());
    const looks = await page.$$eval('#card-many .key .swatch', all => all.map(swatch => {
      const style = getComputedStyle(swatch);
      return `${swatch.className} ${style.color} ${style.clipPath}`;
    }));
    assert.equal(looks.length, 21);
    assert.equal(new Set(looks).size, 21);
    await page.done();
  });

  test('leave out what the key switches off', async () => {
    const page = await open(SAMPLE(), {viewport: PHONE});
    const count = () => page.evaluate(() => window.assayPage.cards.get('bandwidth').chart.instance.getOption().series.length);
    const all = await count();
    await page.click('#card-bandwidth .key button >> nth=0');
    assert.ok(await count() < all);
    await page.done();
  });
});

describe('the theme', () => {
  test('follows the reader, and its switch is remembered', async () => {
    const page = await open(SAMPLE(), {colorScheme: 'dark'});
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(await background(), 'rgb(22, 24, 28)');
    await page.click('#theme');
    assert.equal(await background(), 'rgb(255, 255, 255)');
    await page.reload();
    await page.waitForSelector('html[data-ready]');
    assert.equal(await background(), 'rgb(255, 255, 255)');
    await page.done();
  });
});

describe('the keyboard', () => {
  test('reaches every control and sorts a table', async () => {
    const page = await open(SAMPLE());
    const reached = new Set();
    for (let i = 0; i < 120; ++i) {
      await page.keyboard.press('Tab');
      const name = await page.evaluate(() => {
        const one = document.activeElement;
        if (!one || one === document.body) return '';
        const style = getComputedStyle(one);
        if (style.outlineStyle === 'none') return 'no visible focus: ' + one.outerHTML.slice(0, 80);
        return one.id || one.className.toString().split(' ')[0] || one.tagName;
      });
      assert.ok(!name.startsWith('no visible'), name);
      reached.add(name);
    }
    for (const name of ['choice-0', 'search', 'theme', 'chart', 'SUMMARY', 'tabulator-col'])
      assert.ok(reached.has(name), `${name} is not among ${[...reached]}`);
    await page.focus(`${sheet('verdicts')} .tabulator-col[tabulator-field="c1"]`);
    await page.keyboard.press('Enter');
    await page.waitForSelector(`${sheet('verdicts')} .tabulator-col[tabulator-field="c1"][aria-sort="ascending"]`);
    await page.done();
  });
});

describe('the pages of commands', () => {
  test('a sweep shows the comparison that was chosen', async () => {
    const page = await open(PAGES().sweep);
    assert.equal(await page.inputValue('#choice-0'), '4cta_512threads');
    await page.selectOption('#choice-0', '8cta_512threads');
    assert.ok(await page.isVisible('#card-8cta_512threads\\.composition'));
    assert.ok(!await page.isVisible('#card-4cta_512threads\\.composition'));
    const lanes = await page.evaluate(() => window.assayPage.cards.get('8cta_512threads.timeline-test').card.chart.lanes.length);
    assert.equal(lanes, 8);
    await page.done();
  });

  test('a sweep sets all its settings side by side', async () => {
    const page = await open(PAGES().sweep);
    const chart = id => page.evaluate(one => window.assayPage.cards.get(one).card.chart, id);
    const pairs = await chart('pairs');
    assert.equal(pairs.scale, 'gain');
    assert.equal(pairs.rows.length, 6);
    assert.equal(pairs.panels[0].texts.filter(text => text === '=').length, 2);
    assert.equal(pairs.panels[0].values.filter(value => value !== null).length, 30);
    const bandwidth = await chart('bandwidth-all');
    assert.ok(bandwidth.curves.some(curve => curve.look === 'limit' && curve.name.startsWith('links of H200')));
    assert.ok(bandwidth.curves.some(curve => curve.name.startsWith('NCCL alone: all_reduce')));
    // A setting has one entry in the key, however many collectives it has.
    const key = await page.$$eval(`${sheet('bandwidth-all')} .key > *`, all => all.map(one => one.textContent));
    assert.equal(key.length, new Set(key).size);
    assert.deepEqual((await chart('stragglers')).columns, ['0', '1', '2', '3', '4', '5', '6', '7']);
    for (const id of ['pairs', 'bandwidth-all', 'bandwidth-channels', 'stragglers']) assert.ok(await page.isVisible(sheet(id)), id);
    await page.click(`${sheet('Pairs')} > summary`);
    await page.waitForSelector(`${sheet('Pairs')} .tabulator-row`);
    assert.match(await shown(page, 'Pairs'), /15/);
    await page.done();
  });

  test('several tests of one baseline have a page, too', async () => {
    const page = await open(PAGES().several);
    const pairs = await page.evaluate(() => window.assayPage.cards.get('pairs').card.chart);
    assert.equal(pairs.rows.length, 4);
    assert.match(await page.textContent(sheet('pairs')), /pairs of settings differ in these runs/);
    await page.done();
  });

  test('the all-reduce page follows a choice that leaves nothing', async () => {
    const page = await open(PAGES().allreduce);
    const values = await page.$$eval('#choice-1 option', all => all.map(one => one.value));
    for (const value of values) {
      await page.selectOption('#choice-1', value);
      await settled(page);
      assert.ok(await page.locator('.card:visible').count() >= 4, value);
    }
    await page.done();
  });

  test('a search says what to run, how sure that is, and shows what it was chosen from', async () => {
    const page = await open(PAGES().plan);
    assert.match(await page.textContent('h1'), /^Run qwen3-30b-a3b .* copy of tp .* tokens\/s per GPU \(80 %: \d+ to \d+\), TTFT .* ms \(in a benchmark, .* ms; 80 %: .*TPOT .* ms \(80 %: /);
    assert.match(await page.textContent('#answer'), /assay plan files --model qwen3-30b-a3b/);
    const chart = id => page.evaluate(one => window.assayPage.cards.get(one).card.chart, id);
    const [best] = (await chart('frontier')).curves;
    assert.equal(best.name, 'frontier');
    // Only deployments that may decide are simulated: some twenty of them on the frontier.
    assert.ok(best.points.length >= 10);
    for (const point of best.points) assert.ok(point.low < point.y && point.y < point.high, JSON.stringify(point));
    // More tokens for each user are fewer for each GPU.
    assert.ok(best.points.every((point, i) => !i || point.x > best.points[i - 1].x && point.y < best.points[i - 1].y));
    for (const bar of (await chart('bounds')).bars) assert.ok(bar.values.every(value => value >= 0) && bar.values[2] > 0, bar.name);
    await page.click('#card-frontier button:text("Values")');
    assert.match(await page.textContent('#card-frontier .values'), /frontier/);
    await page.done();
  });

  test('a search answers every pair of limits, with its chance, as predicted and kept by whole error bars', async () => {
    const page = await open(PAGES().plan);
    const values = async id => {
      const {rows, columns, panels} = await page.evaluate(one => window.assayPage.cards.get(one).card.chart, id);
      return {at: (ttft, tpot) => panels[0].values[rows.indexOf(ttft) * columns.length + columns.indexOf(tpot)], rows, columns, panels};
    };
    const kept = await values('limits');
    const best = /: (\d+) tokens/.exec(await page.textContent('h1'))[1];
    assert.equal(Math.round(kept.at('500', '12')), Number(best));
    assert.ok((await values('limits-predicted')).at('500', '12') > Number(best));
    // A looser limit never gives less.
    const {rows, columns, panels} = kept;
    for (let row = 0; row < rows.length; ++row)
      for (let column = 0; column < columns.length; ++column) {
        const value = panels[0].values[row * columns.length + column] ?? 0;
        if (column) assert.ok(value >= (panels[0].values[row * columns.length + column - 1] ?? 0));
        if (row) assert.ok(value <= (panels[0].values[(row - 1) * columns.length + column] ?? 0));
      }
    assert.ok(await page.isVisible('#card-limits') && !await page.isVisible('#card-limits-bar'));
    await page.selectOption('#choice-0', "TPOT's whole error bar");
    assert.ok(!await page.isVisible('#card-limits') && await page.isVisible('#card-limits-bar'));
    assert.ok(((await values('limits-bar')).at('500', '12') ?? 0) < Number(best));
    await page.done();
  });

  test('a search lists its deployments, sorted by any figure', async () => {
    const page = await open(PAGES().plan);
    const header = `${sheet('deployments')} .tabulator-col[tabulator-field="c3"]`;
    await page.waitForSelector(header);
    await page.click(header + ' .tabulator-col-title');
    await page.click(header + ' .tabulator-col-title');
    await page.waitForSelector(header + '[aria-sort="descending"]');
    const numbers = (await cells(page, 'deployments', 'c3')).map(Number);
    assert.ok(numbers.length > 5 && numbers.every((value, i) => !i || value <= numbers[i - 1]), String(numbers));
    assert.ok(numbers[0] > numbers.at(-1));
    await page.done();
  });
});
