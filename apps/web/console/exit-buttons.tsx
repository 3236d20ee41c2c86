import { propose } from './action';
import type { Exit } from './exits';

interface Offered {
  readonly exits: readonly Exit[];
  readonly ids: readonly string[];
  readonly onDone: () => Promise<void>;
}

/** One button for each way out; of many subjects at once it says how many. */
export function ExitButtons({ exits, ids, onDone }: Offered) {
  const isMany = ids.length > 1;
  return (
    <span class="buttons">
      {exits.map(({ label, ...action }) => (
        <button key={label} type="button" onClick={() => propose({ ...action, ids, onDone })}>
          {isMany ? `${label} all ${ids.length}` : label}
        </button>
      ))}
    </span>
  );
}
