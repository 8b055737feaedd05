// Drives the status page as a person does. Arguments: the page's URL, that of one with tokens, source, target, folder for
// screenshots or nothing. It asks the test for what a person cannot do, a line to stdout and an answer from stdin.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const require = createRequire(process.env.MODULES + "/x.js");
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const [base, guarded, source, target, shots] = process.argv.slice(2);

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const ask = async what => { console.log("please " + what); await answers.next(); };
const must = (good, what) => { if (!good) throw new Error(what); };
const step = what => console.log("step " + what);

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
});

// open gives a page that remembers what the console says and where requests go.
async function open(options = {}, expected = /^$/) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  page.faults = [];
  page.on("console", m => { if (["error", "warning"].includes(m.type()) && !expected.test(m.text())) page.faults.push(m.text()); });
  page.on("pageerror", e => page.faults.push(String(e)));
  page.on("request", r => { if (![base, guarded].includes(new URL(r.url()).origin)) page.faults.push("request to " + r.url()); });
  return page;
}

async function close(page) {
  must(page.faults.length === 0, "the console says: " + page.faults.join("; "));
  await page.context().close();
}

// judge looks at a view in both colour schemes and on a small screen.
async function judge(page, name) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => axe.run());
    must(violations.length === 0, `${name}, ${colorScheme}: ` + violations.map(v => v.id + " at " + v.nodes.map(n => n.target + " " + n.failureSummary).join(", ")).join("; "));
    await picture(page, `${name}-${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 375, height: 700 });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  must(wide <= 375, `${name} is ${wide} pixels wide on a screen of 375`);
  await picture(page, name + "-small");
  await page.setViewportSize({ width: 1200, height: 900 });
}

// picture keeps a screenshot where somebody wants them.
async function picture(page, name) {
  if (shots) await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
}

const state = (page, name) => page.waitForFunction(s => document.getElementById("state")?.textContent === s, name);

try {
  step("a job from its form to its end");
  const page = await open();
  let bytes = 0;
  const sizes = [];
  page.on("response", r => sizes.push(r.body().then(b => { bytes += b.length; }, () => {})));
  await page.goto(base + "/", { waitUntil: "networkidle" });
  await Promise.all(sizes);
  console.log(`first view: ${bytes} bytes`);
  must(bytes > 0 && bytes < 100_000, `the first view has ${bytes} bytes`);
  await page.keyboard.press("Tab");
  must(await page.evaluate(() => document.activeElement.className) === "skip", "Tab reaches the link to the content first");
  await page.getByRole("link", { name: "New job" }).focus();
  await page.keyboard.press("Enter");
  await page.getByLabel("Source", { exact: true }).fill(source);
  await judge(page, "new");
  await page.getByLabel("Target", { exact: true }).fill(target);
  await page.getByLabel("Sample for the estimate").fill("2");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/jobs\//);
  const job = page.url();
  await page.evaluate(() => { window.mark = "not loaded again"; });
  await state(page, "planned");
  await page.getByText("Expected cost").waitFor();
  must((await page.textContent("#plan")).includes("EUR"), "the plan has no cost");
  await judge(page, "planned");
  must(await page.evaluate(() => window.mark), "the page was loaded again");

  step("start, pause and resume");
  await page.getByRole("button", { name: "Start" }).click();
  await state(page, "running");
  await page.waitForFunction(() => document.getElementById("why").textContent.includes("no worker") || document.getElementById("why").textContent.includes("No worker"));
  await page.getByRole("button", { name: "Pause" }).click();
  await state(page, "paused");
  await page.getByRole("button", { name: "Resume" }).click();
  await state(page, "running");
  await page.evaluate(() => { window.mark = "not loaded again"; });
  await ask("start a worker");
  await state(page, "done");
  await page.getByRole("link", { name: "Report", exact: true }).waitFor();
  must(await page.evaluate(() => window.mark), "the page was loaded again before its job was done");
  await page.getByText("the source is damaged").waitFor();
  await judge(page, "done");

  step("before and after");
  await page.getByRole("link", { name: "all records" }).click();
  await judge(page, "objects");
  await page.getByRole("link", { name: "one.png" }).click();
  await page.waitForFunction(() => document.images.length === 2 && [...document.images].every(i => i.complete && i.naturalWidth > 0));
  await judge(page, "object");

  step("retry a failure");
  await page.goto(job);
  await ask("repair the source");
  await page.getByRole("button", { name: "Retry these" }).click();
  await page.waitForURL(u => u.href !== job && u.pathname.startsWith("/jobs/"));
  await state(page, "done");
  must(/\b1\s+compressed/.test(await page.textContent("#outcomes")), "the retry compressed nothing");

  step("jobs and workers");
  await page.getByRole("link", { name: "Jobs" }).click();
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 2);
  await judge(page, "jobs");
  await page.getByRole("link", { name: "Workers" }).click();
  await page.locator("#processes").waitFor();
  await judge(page, "workers");

  step("the report");
  await page.goto(job + "/report");
  const report = await page.content();
  await close(page);
  const paper = await open();
  await paper.setContent(report);
  await judge(paper, "report");
  await paper.setContent(readFileSync("../report/testdata/report.html", "utf8")); // one with losses, failures and folders
  await judge(paper, "report-lossy");
  await close(paper);

  step("without events");
  const old = await open();
  await old.addInitScript(() => { delete window.EventSource; });
  await old.goto(job);
  await old.waitForFunction(() => Number(document.body.dataset.looks) >= 2);
  await close(old);

  step("without a script");
  const plain = await open({ javaScriptEnabled: false });
  await plain.goto(base + "/");
  await plain.getByRole("link", { name: new URL(job).pathname.split("/").pop() }).click();
  must((await plain.textContent("#state")) === "done" && (await plain.textContent("#outcomes")).includes("compressed"), "the job cannot be read without a script");
  await close(plain);

  step("signing in");
  const guest = await open({}, /status of 401/);
  await guest.goto(guarded + "/");
  await judge(guest, "signin");
  await guest.getByLabel("Token").fill("operator");
  await guest.keyboard.press("Enter");
  await guest.getByRole("link", { name: "New job" }).waitFor();
  const [cookie] = await guest.context().cookies();
  must(cookie.httpOnly && cookie.sameSite === "Strict", "the cookie can be read by scripts or sent by other sites");
  await guest.getByRole("button", { name: "Sign out" }).click();
  await guest.getByLabel("Token").waitFor();
  await close(guest);
  console.log("all well");
} catch (e) {
  for (const c of browser.contexts()) for (const p of c.pages()) {
    console.log("at " + p.url());
    console.log((await p.textContent("main").catch(() => "")).replace(/\s+/g, " ").slice(0, 1500));
    await picture(p, "failed").catch(() => {});
  }
  console.log(String(e.stack));
  process.exitCode = 1;
} finally {
  await browser.close();
  process.exit();
}
