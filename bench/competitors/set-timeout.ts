import { closeOne } from './close-orders';
import { compete } from './competitor';

/** The article's first answer: `setTimeout` in the process that placed the order. */
compete(async ({ pool, orders }) => {
  for (const { id, closesAt } of await orders()) {
    setTimeout(() => void closeOne(pool, id), Math.max(0, closesAt.getTime() - Date.now()));
  }
});
