import { setImmediate } from 'node:timers/promises';

/** Rows of one turn of the event loop: some microseconds each. */
const AT_ONCE = 500;

/** Yields rows, and lets others have their turns in between: an answer may have tens of thousands. */
export async function* inTurns<Row>(rows: readonly Row[]): AsyncGenerator<Row> {
  for (let at = 0; at < rows.length; at += AT_ONCE) {
    if (at > 0) await setImmediate();
    yield* rows.slice(at, at + AT_ONCE);
  }
}
