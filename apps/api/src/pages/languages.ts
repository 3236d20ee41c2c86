import type { FastifyRequest } from 'fastify';

/** The first language of `Accept-Language` that there are texts in; `wanted` goes before it. */
function chooseLanguage(
  available: readonly string[],
  accepted: string | undefined,
  wanted: unknown,
): string {
  if (typeof wanted === 'string' && available.includes(wanted)) return wanted;
  const ranked = (accepted ?? '')
    .slice(0, 500)
    .split(',')
    .map((part) => {
      const [tag = '', ...params] = part.trim().split(';');
      const q = params.map((one) => /^\s*q=([\d.]+)$/.exec(one)?.[1]).find(Boolean);
      return { primary: tag.toLowerCase().split('-')[0] ?? '', q: q === undefined ? 1 : Number(q) };
    })
    .filter(({ q }) => q > 0)
    .sort((a, b) => b.q - a.q);
  return ranked.find(({ primary }) => available.includes(primary))?.primary ?? 'en';
}

/** Of a page: `?lang=`, or what the browser accepts. */
export function languageOf(
  { query, headers }: FastifyRequest,
  available: readonly string[],
): string {
  const { lang } = query as { lang?: unknown };
  return chooseLanguage(available, headers['accept-language'], lang);
}
