// What to paste into a second terminal after `npm start`, and what the README says: one block, the
// same for bash, zsh and fish, which ends at "paid". So there is no comment in it (an interactive zsh
// takes `#` for a command) and no `NAME=value` alone (fish takes it for one): all three know `export`.

/**
 * @typedef {object} Installation
 * @property {string} apiUrl
 * @property {string | null} sandboxUrl null: another provider
 * @property {string | null} homeName null: the default
 * @property {boolean} isDatabaseGiven by the environment, which hides the home from the CLI
 * @property {'generated' | 'given' | 'issuer'} tokenSource where the signing key is
 */

/** @param {Installation} installation */
export async function firstOrder(installation) {
  return firstOrderLines(installation, await firstSku(installation.apiUrl));
}

/**
 * @param {Installation} installation
 * @param {string} sku
 */
export function firstOrderLines(installation, sku) {
  const { sandboxUrl, tokenSource } = installation;
  const apiUrl = shellWord(installation.apiUrl);
  const lastcall = commandOf(installation);
  const post = `curl -s -X POST -H "Authorization: Bearer $TOKEN"`;
  const order = `curl -s -H "Authorization: Bearer $TOKEN" ${apiUrl}/v1/orders/$ORDER`;
  const pay = sandboxUrl
    ? [`curl -s -X POST ${shellWord(sandboxUrl)}/v1/payments/$PAYMENT/pay; echo; sleep 1`]
    : [];
  return [
    tokenSource === 'issuer'
      ? 'export TOKEN=ONE_OF_YOUR_ISSUER_WITH_THE_SCOPE_orders'
      : `export TOKEN=$(${lastcall} token --sub alice --scope orders)`,
    `curl -s ${apiUrl}/v1/products; echo`,
    `export ORDER=$(${post} -H "Idempotency-Key: $(date +%s)" -H "Content-Type: application/json" \\`,
    `  -d '{"items":[{"sku":"${sku}","quantity":1}]}' ${apiUrl}/v1/orders | ${pick('id')})`,
    `export PAYMENT=$(${post} ${apiUrl}/v1/orders/$ORDER/payments | ${pick('providerPaymentId')})`,
    ...pay,
    `${order} | node -p 'JSON.stringify(JSON.parse(fs.readFileSync(0)).status)'`,
  ];
}

/**
 * `npx lastcall`, with what it needs to find this installation.
 * @param {Pick<Installation, 'homeName' | 'isDatabaseGiven'>} installation
 */
export function commandOf({ homeName, isDatabaseGiven }) {
  const home = homeName ? `LASTCALL_HOME=${shellWord(homeName)} ` : '';
  return `${isDatabaseGiven ? 'env -u DATABASE_URL ' : ''}${home}npx lastcall`;
}

/**
 * One word to bash, zsh and fish: a folder may have spaces and quotes, and brackets are a pattern to zsh.
 * @param {string} text
 */
export function shellWord(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** @param {string} field */
function pick(field) {
  return `node -p 'JSON.parse(fs.readFileSync(0)).${field}'`;
}

/** @param {string} apiUrl */
async function firstSku(apiUrl) {
  try {
    const answer = await fetch(`${apiUrl}/v1/products`, { signal: AbortSignal.timeout(5_000) });
    const { items } = /** @type {{ items: { sku: string, available: number }[] }} */ (
      await answer.json()
    );
    return (items.find(({ available }) => available > 0) ?? items[0])?.sku ?? 'SKU';
  } catch {
    return 'SKU';
  }
}
