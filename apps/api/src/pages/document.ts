import type { FastifyReply } from 'fastify';

/** Own scripts and styles, own answers, nothing of others, no frame around it. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

export interface PageDocument {
  readonly title: string;
  readonly language?: string;
  /** Addresses of its script and its style. */
  readonly script: string;
  readonly style: string;
  /** What stands there before the script runs, and where it never does: HTML that is safe. */
  readonly content: string;
  /** For the script, as data. */
  readonly state?: unknown;
}

const RIGHT_TO_LEFT = new Set(['ar', 'fa', 'he', 'ur']);

export function sendPage(reply: FastifyReply, page: PageDocument, status = 200): void {
  void reply
    .code(status)
    .type('text/html; charset=utf-8')
    .header('content-security-policy', PAGE_POLICY)
    .header('x-frame-options', 'DENY')
    .send(render(page));
}

function render({ title, language = 'en', script, style, content, state }: PageDocument): string {
  const direction = RIGHT_TO_LEFT.has(language) ? 'rtl' : 'ltr';
  const data =
    state === undefined
      ? ''
      : `<script type="application/json" id="state">${asScriptData(state)}</script>`;
  return (
    `<!doctype html><html lang="${escapeHtml(language)}" dir="${direction}"><head>` +
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">' +
    '<meta name="color-scheme" content="light dark"><meta name="robots" content="noindex">' +
    `<title>${escapeHtml(title)}</title><link rel="stylesheet" href="${style}">` +
    `<script type="module" src="${script}"></script></head>` +
    `<body><div id="app">${content}</div>${data}</body></html>`
  );
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

/** JSON in which no `<` can end the element that it stands in. */
function asScriptData(state: unknown): string {
  return JSON.stringify(state).replaceAll('<', '\\u003c');
}
