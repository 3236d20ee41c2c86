import { signal } from '@preact/signals';

/** Where in the console one is: behind the hash, so that it can be bookmarked and sent. */
export interface Place {
  readonly view: string;
  readonly id: string | undefined;
  readonly query: URLSearchParams;
}

const VIEWS = ['now', 'orders', 'order', 'work', 'audit'];

export const place = signal<Place>(read());

addEventListener('hashchange', () => (place.value = read()));

function read(): Place {
  const [path = '', search = ''] = location.hash.slice(1).split('?');
  const [view = '', id] = path.replace(/^\//, '').split('/');
  const isKnown = VIEWS.includes(view);
  return { view: isKnown ? view : 'now', id, query: new URLSearchParams(search) };
}

/** The hash of a place; empty values are left out. */
export function hashOf(path: string, query: Readonly<Record<string, string>> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== '');
  const search = new URLSearchParams(given).toString();
  return `#/${path}${search ? `?${search}` : ''}`;
}
