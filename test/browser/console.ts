import { PageSessions } from '@app/orders';
import type { StartedShop } from '../support/shop';
import type { Visitor } from './browser';

export const READ = ['ops:read'];
export const OPERATE = [...READ, 'ops:write'];
export const ADMIN = [...OPERATE, 'ops:admin'];

/** What `lastcall console open` prints. */
export async function consoleLink(
  shop: StartedShop,
  { scopes = OPERATE, codeLifetimeMs = 60_000 } = {},
): Promise<string> {
  const { code } = await shop.app.app.get(PageSessions).invite({
    ...{ page: 'console', subject: 'olga', scopes },
    ...{ codeLifetimeMs, lifetimeMs: 3_600_000 },
  });
  return `${shop.apiUrl}/console#login=${code}`;
}

/** Logs a visitor in, and goes to a place of the console. */
export async function enterConsole(
  shop: StartedShop,
  { page }: Visitor,
  place = '',
  scopes = OPERATE,
): Promise<void> {
  await page.goto(await consoleLink(shop, { scopes }));
  await page.getByRole('navigation', { name: 'Views' }).waitFor();
  if (place) await goTo(shop, page, place);
}

/** Another place of the console, without loading it anew. */
export const goTo = (
  { apiUrl }: StartedShop,
  page: Visitor['page'],
  place: string,
): Promise<unknown> => page.goto(`${apiUrl}/console#/${place}`);

/** In the open dialog: waits for the rehearsal, gives a reason, and does it. */
export async function confirm({ page }: Visitor, title: string, count?: number): Promise<void> {
  const dialog = page.getByRole('dialog');
  await dialog.getByText('A rehearsal says:').waitFor();
  const act = dialog.getByRole('button', { name: title });
  await dialog.getByLabel(/^Why/).fill('seen in a test');
  if (count !== undefined) {
    expect(await act.isDisabled()).toBe(true);
    await dialog.getByLabel(/^How many/).fill(String(count));
  }
  await act.click();
}
