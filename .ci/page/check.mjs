// Opens pages in headless Chromium, on a phone and on a desk, in light and in dark, and says what is
// wrong: an error on the console, a request, a link that leads nowhere, a page wider than its window,
// what axe finds. `node check.mjs CHROMIUM FOLDER PAGE...`; screenshots and a print go to FOLDER.

import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, folder, ...pages] = process.argv.slice(2);
const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const args = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];
const problems = [];

async function look(browser, file, width, colorScheme) {
  const name = `${path.basename(file, ".html")}-${width}-${colorScheme}`;
  const say = (text) => problems.push(`${name}: ${text}`);
  const context = await browser.newContext({ viewport: { width, height: 844 }, colorScheme });
  const page = await context.newPage();
  const address = pathToFileURL(file).href;
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) say(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => say(`error: ${error.message}`));
  page.on("dialog", async (dialog) => { say(`dialog: ${dialog.message()}`); await dialog.dismiss(); });
  page.on("request", (request) => {
    if (request.url().split("#")[0] !== address) say(`request: ${request.url()}`);
  });
  await page.goto(address);
  // A picture of any size would take minutes without a graphics card.
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  const clip = { x: 0, y: 0, width, height: Math.min(height, 5000) };
  await page.screenshot({ path: path.join(folder, `${name}.png`), clip, fullPage: true });

  const hrefs = await page.$$eval("a", (links) => links.map((a) => a.getAttribute("href")));
  if (hrefs.length < 6) say(`only ${hrefs.length} links`);
  for (const href of new Set(hrefs)) {
    if (/^(https?:|mailto:)/i.test(href)) continue;
    if (!href.startsWith("#")) { say(`link: ${href}`); continue; }
    const there = await page.evaluate((id) => document.querySelectorAll(`[id="${id}"]`).length, href.slice(1));
    if (there !== 1) say(`link ${href}: ${there} targets`);
  }
  // By hand, too: what is seen can be followed, and one arrives.
  for (const link of await page.$$("nav a")) {
    const href = await link.getAttribute("href");
    await link.click();
    if (!page.url().endsWith(href)) say(`a click on ${href} leads to ${page.url()}`);
    const target = await page.$(href);
    const box = target && await target.boundingBox();
    if (!box || box.y > 844) say(`a click on ${href} shows something else`);
  }

  await page.$$eval("details", (all) => all.forEach((one) => { one.open = true; }));
  const wider = await page.evaluate(() =>
    document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (wider > 0) say(`${wider} pixels wider than the window`);
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document));
  for (const one of found.violations) {
    const where = one.nodes.slice(0, 3).map((node) => node.html.slice(0, 120)).join("\n    ");
    say(`axe ${one.id} (${one.impact}): ${one.help}\n    ${where}`);
  }
  await page.evaluate(() => document.querySelector("#documents")?.scrollIntoView());
  await page.screenshot({ path: path.join(folder, `${name}-open.png`) });
  console.log(`${name}: ${hrefs.length} links, ${found.passes.length} rules of axe passed`);
  await context.close();
}

async function print(browser, file) {
  const page = await browser.newPage();
  await page.goto(pathToFileURL(file).href);
  await page.pdf({ path: path.join(folder, `${path.basename(file, ".html")}.pdf`), format: "A4" });
  await page.close();
}

const browser = await chromium.launch({ executablePath, args, headless: true });
for (const file of pages) {
  for (const width of [390, 1280]) {
    for (const scheme of ["light", "dark"]) await look(browser, path.resolve(file), width, scheme);
  }
  await print(browser, path.resolve(file));
}
await browser.close();
for (const problem of problems) console.error(problem);
process.exit(problems.length > 0 ? 1 : 0);
