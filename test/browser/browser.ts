import { existsSync, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
/** For whatever has to appear, on a machine that others use as well. */
const LIMIT_MS = 60_000;
const RULES_OF_COLOUR = ['color-contrast', 'link-in-text-block'];
const PICTURES = join(__dirname, '../../docs/pictures');

/** CHROMIUM_BIN, or what is on the PATH; `apt-get install chromium` brings one on Debian. */
export function chromiumPath(): string {
  const { CHROMIUM_BIN, PATH = '' } = process.env;
  const places = [...PATH.split(delimiter), '/usr/bin'];
  const found = places
    .flatMap((folder) => NAMES.map((name) => join(folder, name)))
    .find((path) => existsSync(path));
  const path = CHROMIUM_BIN || found;
  if (path && existsSync(path)) return path;
  throw new Error(
    'No Chromium: install one (Debian: apt-get install chromium), or set CHROMIUM_BIN',
  );
}

export function launch(): Promise<Browser> {
  // Without the sandbox, which root may not use; it only opens pages of ours.
  const args = ['--no-sandbox'];
  return chromium.launch({ executablePath: chromiumPath(), args });
}

/** A visitor of their own: cookies, language, and every complaint of the policy or the console. */
export class Visitor {
  readonly complaints: string[] = [];

  constructor(
    readonly context: BrowserContext,
    readonly page: Page,
  ) {
    this.listen(page);
  }

  listen(page: Page): void {
    page.on('console', (message) => {
      const text = message.text();
      if (/content security policy|trusted ?type/i.test(text)) this.complaints.push(text);
    });
    page.on('pageerror', (error) => this.complaints.push(String(error)));
  }

  /** What axe finds wrong with the page, in the light and in the dark, where only colours differ. */
  async barriers(): Promise<string[]> {
    const found: string[] = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      await this.page.emulateMedia({ colorScheme });
      // By evaluate: a script that is added to the page is what its policy is there to stop.
      if (!(await this.page.evaluate(() => 'axe' in globalThis))) {
        await this.page.evaluate(axe.source);
      }
      const { violations } = await this.page.evaluate(
        (rules) =>
          (globalThis as unknown as { axe: typeof axe }).axe.run({
            resultTypes: ['violations'],
            ...(rules && { runOnly: [...rules] }),
          }),
        colorScheme === 'dark' ? RULES_OF_COLOUR : undefined,
      );
      found.push(...violations.map(({ id, nodes }) => `${colorScheme} ${id}: ${nodes[0]?.html}`));
    }
    return found;
  }

  /** A picture for the docs, where one is asked for: UPDATE_PICTURES=1. */
  async picture(name: string): Promise<void> {
    if (!process.env.UPDATE_PICTURES) return;
    mkdirSync(PICTURES, { recursive: true });
    await this.page.emulateMedia({ colorScheme: 'light' });
    await this.page.screenshot({ path: join(PICTURES, `${name}.png`) });
  }

  close(): Promise<void> {
    return this.context.close();
  }
}

export async function visit(
  browser: Browser,
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<Visitor> {
  const context = await browser.newContext({ viewport: { width: 960, height: 640 }, ...options });
  context.setDefaultTimeout(LIMIT_MS);
  return new Visitor(context, await context.newPage());
}
