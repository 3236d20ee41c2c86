// What to paste into a second terminal after `npm start`.

/**
 * @param {object} installation
 * @param {string} installation.apiUrl
 * @param {string | null} installation.sandboxUrl null: another provider
 * @param {string | null} installation.homeName null: the default
 * @param {boolean} installation.isDatabaseGiven by the environment, which hides the home from the CLI
 * @param {'generated' | 'given' | 'issuer'} installation.tokenSource where the signing key is
 */
export async function firstOrder({ apiUrl, sandboxUrl, homeName, isDatabaseGiven, tokenSource }) {
  const home = homeName ? `LASTCALL_HOME=${homeName} ` : '';
  const lastcall = `${isDatabaseGiven ? 'env -u DATABASE_URL ' : ''}${home}npx lastcall`;
  const post = `curl -s -X POST -H "Authorization: Bearer $TOKEN"`;
  const sku = await firstSku(apiUrl);
  const lines = [
    tokenSource === 'issuer'
      ? 'TOKEN=... # from your issuer, with the scope "orders"'
      : `TOKEN=$(${lastcall} token --sub alice --scope orders)`,
    `curl -s ${apiUrl}/v1/products; echo`,
    `ORDER=$(${post} -H "Idempotency-Key: $(date +%s)" -H "Content-Type: application/json" \\`,
    `  -d '{"items":[{"sku":"${sku}","quantity":1}]}' ${apiUrl}/v1/orders | ${pick('id')})`,
    `PAYMENT=$(${post} ${apiUrl}/v1/orders/$ORDER/payments)`,
    `echo "$PAYMENT" | ${pick('checkoutUrl')}`,
  ];
  if (sandboxUrl) {
    lines.push(
      `curl -s -X POST ${sandboxUrl}/v1/payments/$(echo "$PAYMENT" | ${pick('providerPaymentId')})/pay; echo`,
    );
  }
  const order = `curl -s -H "Authorization: Bearer $TOKEN" ${apiUrl}/v1/orders/$ORDER`;
  lines.push(`sleep 1; ${order} | ${pick('status')}`);
  return lines;
}

/** @param {string} field */
function pick(field) {
  return `node -pe 'JSON.parse(fs.readFileSync(0)).${field}'`;
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
