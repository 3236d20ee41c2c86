import { signal } from '@preact/signals';
import { render } from 'preact';
import { useRef } from 'preact/hooks';
import { ask, Refused } from '../shared/ask';
import { ActionDialog } from './action';
import { AuditView } from './audit-view';
import { place } from './location';
import { NowView } from './now-view';
import { OrderView } from './order-view';
import { OrdersView } from './orders-view';
import { REFRESH_CHOICES, refreshSeconds } from './refreshed';
import { SessionsView } from './sessions-view';
import { WorkView } from './work-view';

interface Session {
  readonly actor: string;
  readonly scopes: readonly string[];
  readonly endsAt: string;
  readonly environment: string | null;
}

const VIEWS = ['now', 'orders', 'work', 'audit'];
const SHORTCUTS: Readonly<Record<string, string>> = {
  n: 'now',
  o: 'orders',
  w: 'work',
  a: 'audit',
};

const LOGIN = /^#login=([\w-]+)$/;

/** Of what keeps the console from being entered or left, all but these may be over in a moment. */
const STAYS_SO = [400, 401, 403, 422];
const AGAIN_MS = 5_000;

const session = signal<Session | undefined>(undefined);
const isKnown = signal(false);
/** What the last question about the session came to, where it was not answered as it should be. */
const complaint = signal('');

/** The code of a link, until it has been traded, or refused. */
let code: string | undefined;
let entering = 0;

/** Trades the link's code, which then stands in no address any more; tries until it is known who this is. */
async function enter(): Promise<void> {
  const given = LOGIN.exec(location.hash)?.[1];
  if (given !== undefined) {
    code = given;
    history.replaceState(null, '', location.pathname);
  }
  const mine = ++entering;
  while (mine === entering && !(await hasEntered())) {
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/** Whether it is known by now who this is, if anybody. */
async function hasEntered(): Promise<boolean> {
  let why = '';
  try {
    if (code !== undefined) {
      why = await refusalOf(ask('POST', '/console/session', { code }));
      code = undefined;
    }
    const now = await ask<Session>('GET', '/console/session').catch(unlessItStaysSo);
    session.value = now;
    complaint.value = now ? '' : why;
    return (isKnown.value = true);
  } catch (error) {
    complaint.value = textOf(error);
    return false;
  }
}

/** What it says, where it was refused for good; empty where it was not. */
const refusalOf = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => '',
    (error: unknown) => {
      unlessItStaysSo(error);
      return textOf(error);
    },
  );

function unlessItStaysSo(error: unknown): undefined {
  if (!(error instanceof Refused && STAYS_SO.includes(error.status))) throw error;
}

const textOf = (error: unknown): string =>
  error instanceof Refused ? error.message : 'The server does not answer';

async function leave(): Promise<void> {
  try {
    await ask('DELETE', '/console/session');
    complaint.value = '';
  } catch (error) {
    const hasEnded = error instanceof Refused && error.status === 401;
    complaint.value = hasEnded ? '' : textOf(error);
    if (!hasEnded) return;
  }
  session.value = undefined;
}

function Console() {
  if (!isKnown.value) {
    return (
      <main>
        <h1>lastcall console</h1>
        <p role="alert">{complaint.value && `${complaint.value}. Trying again.`}</p>
      </main>
    );
  }
  const who = session.value;
  if (!who) {
    return (
      <main>
        <h1>lastcall console</h1>
        {complaint.value && <p role="alert">{complaint.value}</p>}
        <p>
          You are not logged in. On the machine of the installation,{' '}
          <code>lastcall console open</code> prints a link that opens this page, once and within a
          minute.
        </p>
      </main>
    );
  }
  return <Inside who={who} />;
}

function Inside({ who }: { who: Session }) {
  const help = useRef<HTMLDialogElement>(null);
  const { view } = place.value;
  const mayAct = who.scopes.includes('ops:write');
  const isAdmin = who.scopes.includes('ops:admin');
  return (
    <>
      <header>
        <strong>lastcall</strong>
        {who.environment && <span class="badge">{who.environment}</span>}
        <nav aria-label="Views">
          {VIEWS.map((name) => (
            <a key={name} href={`#/${name}`} aria-current={view === name ? 'page' : undefined}>
              {name}
            </a>
          ))}
        </nav>
        <label>
          refresh
          <select
            value={String(refreshSeconds.value)}
            onChange={(event) => (refreshSeconds.value = Number(event.currentTarget.value))}
          >
            {REFRESH_CHOICES.map((seconds) => (
              <option key={seconds} value={String(seconds)}>
                {seconds === 0 ? 'off' : `${seconds} s`}
              </option>
            ))}
          </select>
        </label>
        <span>
          {who.actor}
          {mayAct ? '' : ' (looks only)'}
        </span>
        <button type="button" class="quiet" onClick={() => help.current?.showModal()}>
          ?
        </button>
        <button type="button" class="quiet" onClick={() => void leave()}>
          Leave
        </button>
        {complaint.value && <span role="alert">{complaint.value}</span>}
      </header>
      <main>
        <h1>{view}</h1>
        {view === 'now' && <NowView mayResume={isAdmin} />}
        {view === 'orders' && <OrdersView mayAct={mayAct} />}
        {view === 'order' && <OrderView key={place.value.id} mayAct={mayAct} />}
        {view === 'work' && <WorkView mayAct={mayAct} />}
        {view === 'audit' && <AuditView />}
        {view === 'audit' && isAdmin && <SessionsView />}
      </main>
      <ActionDialog actor={who.actor} />
      <dialog ref={help} aria-labelledby="help-title">
        <h2 id="help-title">Keys</h2>
        <ul>
          {Object.entries(SHORTCUTS).map(([key, name]) => (
            <li key={key}>
              <kbd>{key}</kbd> {name}
            </li>
          ))}
          <li>
            <kbd>?</kbd> this sheet
          </li>
        </ul>
        <form method="dialog">
          <button>Close</button>
        </form>
      </dialog>
      <Keys onHelp={() => help.current?.showModal()} />
    </>
  );
}

function Keys({ onHelp }: { onHelp: () => void }) {
  onkeydown = (event) => {
    const isTyping = (event.target as HTMLElement).closest('input, select, textarea, dialog');
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const view = SHORTCUTS[event.key];
    if (view) location.hash = `#/${view}`;
    else if (event.key === '?') onHelp();
  };
  return null;
}

// Another link, opened in a tab that is here already: the document does not load anew for it.
addEventListener('hashchange', () => {
  if (LOGIN.test(location.hash)) void enter();
});

const root = document.getElementById('app') as HTMLElement;
root.replaceChildren();
render(<Console />, root);
void enter();
