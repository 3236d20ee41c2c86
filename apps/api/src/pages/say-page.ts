import { escapeHtml, type PageDocument } from './document';
import type { WebAssets } from './web-assets';

/** A page of the checkout that has no order to show, and says why: that its link is over, or that it tries again. */
export function sayPage(assets: WebAssets, language: string, what: 'link' | 'away'): PageDocument {
  const messages = assets.messages(language);
  const { title = '' } = messages;
  const [heading, text] = TEXTS[what].map((key) => escapeHtml(messages[key] ?? ''));
  return {
    ...{ title, language, ...checkoutAssets(assets) },
    content: `<main><h1>${heading}</h1><p>${text}</p></main>`,
  };
}

const TEXTS = {
  link: ['link.title', 'link.over'],
  away: ['away.title', 'away.about'],
} as const;

export const checkoutAssets = (assets: WebAssets): Pick<PageDocument, 'script' | 'style'> => ({
  script: assets.urlOf('checkout.js'),
  style: assets.urlOf('checkout.css'),
});
