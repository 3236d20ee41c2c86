import type { Payment, PaymentStatus } from './payment';

const WORDS = {
  open: ['Waiting for your payment', 'This is a sandbox: no money moves.'],
  paid: ['Paid', 'Thank you. You can close this page.'],
  closed: ['Closed', 'This payment can no longer be paid.'],
  failed: ['Payment failed', 'Nothing was charged. Go back to the shop to try again.'],
} as const satisfies Record<PaymentStatus, readonly [string, string]>;

export function payPage(payment: Payment, nowMs: number, nonce: string): string {
  const [headline, hint] = WORDS[payment.status];
  const end = endOf(payment);
  const leftMs = end === null ? null : Math.max(0, Date.parse(end) - nowMs);
  const isPayable = payment.status === 'open' && leftMs !== 0;
  const amount = payment.status === 'paid' ? payment.capturedAmount : payment.amount;
  const currency = payment.capturedCurrency ?? payment.currency;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(headline)} · Sandbox Pay</title>
<style nonce="${nonce}">${STYLE}</style>
</head>
<body>
<main class="${payment.status}" data-status="${payment.status}" data-left-ms="${leftMs ?? ''}"
  data-end="${escapeHtml(end ?? '')}" data-status-url="/pay/${escapeHtml(payment.id)}/status">
  <header><span class="brand">Sandbox Pay</span><span class="badge">test mode</span></header>
  <p class="amount">${escapeHtml(formatAmount(amount, currency))}</p>
  <h1 role="status">${escapeHtml(headline)}</h1>
  <p class="hint">${escapeHtml(hint)}</p>
  ${linesOf(payment)}
  <dl>
    <dt>Reference</dt><dd>${escapeHtml(payment.reference)}</dd>
    <dt>Payment</dt><dd>${escapeHtml(payment.id)}</dd>
    ${deadlineRow(payment)}
  </dl>
  ${isPayable ? forms(payment) : ''}
  ${wayBack(payment)}
</main>
<script nonce="${nonce}">${SCRIPT}</script>
</body>
</html>
`;
}

/** The merchant's payment window; what is under way may land until the payment expires. */
export function endOf({ payBy, expiresAt }: Payment): string | null {
  return payBy ?? expiresAt;
}

function linesOf({ lines = [], currency }: Payment): string {
  if (lines.length === 0) return '';
  const rows = lines.map(({ name, quantity, unitPrice }) => {
    const price = formatAmount(quantity * unitPrice, currency);
    return `<li><span>${quantity} × ${escapeHtml(name)}</span><span>${escapeHtml(price)}</span></li>`;
  });
  return `<ul aria-label="What you pay for">${rows.join('')}</ul>`;
}

function wayBack({ status, successUrl, cancelUrl }: Payment): string {
  if (status === 'paid') return link(successUrl, 'Back to the shop');
  return link(cancelUrl, status === 'open' ? 'Cancel and go back' : 'Back to the shop');
}

function link(address: string | null | undefined, text: string): string {
  return address ? `<a class="back" href="${escapeHtml(address)}">${text}</a>` : '';
}

function deadlineRow(payment: Payment): string {
  const { status, paidAt, closedAt } = payment;
  const end = endOf(payment);
  if (status === 'paid') return `<dt>Paid at</dt><dd>${escapeHtml(paidAt ?? '')}</dd>`;
  if (status === 'closed') return `<dt>Closed at</dt><dd>${escapeHtml(closedAt ?? '')}</dd>`;
  if (status === 'failed' || end === null) return '';
  return `<dt>Time left</dt><dd id="left" role="timer">until ${escapeHtml(end)}</dd>`;
}

function forms({ id }: Payment): string {
  const path = `/pay/${escapeHtml(id)}`;
  return `<form method="post" action="${path}/pay"><button class="pay">Pay now</button></form>
  <form method="post" action="${path}/fail"><button class="fail">Let the payment fail</button></form>`;
}

/** Of currencies whose minor unit is not a hundredth (ISO 4217); a language may write others without decimals, too. */
const DECIMALS: readonly (readonly [currencies: string, decimals: number])[] = [
  ['BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF', 0],
  ['BHD IQD JOD KWD LYD OMR TND', 3],
  ['CLF UYW', 4],
];

/** Minor units to what people read; how many digits that are depends on the currency. */
export function formatAmount(amount: number, currency: string): string {
  const [, digits = 2] = DECIMALS.find(([currencies]) => currencies.includes(currency)) ?? [];
  const format = new Intl.NumberFormat('en', {
    ...{ style: 'currency', currency },
    ...{ minimumFractionDigits: digits, maximumFractionDigits: digits },
  });
  return format.format(amount / 10 ** digits);
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

const STYLE = `
:root { color-scheme: light dark; --ink: #16202e; --dim: #5c6b7e; --card: #fff; --page: #eef2f7;
  --line: #dfe6ee; --accent: #2457e6; --good: #0d7a4f; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eef6; --dim: #9aa9bc; --card: #1a2330;
  --page: #0f151d; --line: #2c3848; --accent: #6b93ff; --good: #4cc38a; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem;
  background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { width: 100%; max-width: 26rem; padding: 1.75rem; border-radius: 1rem;
  background: var(--card); border-top: 4px solid var(--accent);
  box-shadow: 0 10px 40px rgb(10 20 40 / 12%); }
main.paid { border-color: var(--good); } main.paid h1 { color: var(--good); }
main.closed, main.failed { border-color: var(--bad); }
main.closed h1, main.failed h1 { color: var(--bad); }
header { display: flex; justify-content: space-between; align-items: center; }
.brand { font-weight: 650; }
.badge { font-size: .75rem; padding: .1rem .55rem; border-radius: 1rem; color: var(--dim);
  border: 1px solid var(--line); }
.amount { margin: 1.5rem 0 0; font-size: 2.5rem; font-weight: 680; letter-spacing: -.02em;
  font-variant-numeric: tabular-nums; }
h1 { margin: 0; font-size: 1.1rem; }
.hint { margin: .15rem 0 1.25rem; color: var(--dim); font-size: .9rem; }
dl { display: grid; grid-template-columns: auto 1fr; gap: .4rem 1rem; margin: 0 0 1.5rem;
  padding: 1rem 0 0; border-top: 1px solid var(--line); font-size: .85rem; }
dt { color: var(--dim); }
dd { margin: 0; text-align: right; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
button { width: 100%; padding: .8rem; margin-top: .6rem; border-radius: .6rem; font: inherit;
  font-weight: 600; cursor: pointer; }
button:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.pay { border: 0; background: var(--accent); color: var(--card); }
ul { margin: 0 0 1rem; padding: 0; list-style: none; font-size: .9rem; }
li { display: flex; justify-content: space-between; gap: 1rem; }
.back { display: block; margin-top: 1rem; text-align: center; color: var(--dim); }
.fail { border: 1px solid var(--line); background: none; color: var(--dim); }
`;

/** Counts down by the server's idea of the time left, and reloads when the state has changed. */
const SCRIPT = `
const page = document.querySelector('main');
const left = document.getElementById('left');
const endsAt = performance.now() + Number(page.dataset.leftMs);
const tick = () => {
  const seconds = Math.max(0, Math.ceil((endsAt - performance.now()) / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = [minutes, seconds % 60].map((count) => String(count).padStart(2, '0')).join(':');
  left.textContent = hours > 0 ? hours + ':' + rest : rest.replace(/^0/, '');
  if (seconds === 0) for (const form of document.forms) form.hidden = true;
};
const look = async () => {
  const answer = await fetch(page.dataset.statusUrl).catch(() => null);
  if (!answer || !answer.ok) return;
  const { status, end } = await answer.json();
  // Another end: the merchant has given more time.
  if (status !== page.dataset.status || (end ?? '') !== page.dataset.end) location.reload();
};
if (left && page.dataset.leftMs !== '') { tick(); setInterval(tick, 250); }
if (page.dataset.status === 'open') setInterval(look, 1500);
`;
