import type { Side } from './check.ts';
import type { HookResult } from './hook-metrics.ts';

interface Note {
  readonly hook: string;
  readonly side: Side;
  result: HookResult;
  checks: number;
  durationMs: number;
}

/** From what says least. */
const WEIGHT: readonly HookResult[] = ['passed', 'reported', 'replaced', 'failed_open', 'failed', 'blocked'];

/** What hooks did to one request, in words of one line: `pii/input=replaced;ms=12, tone/output=passed;ms=80;checks=4`. */
export class HookNotes {
  readonly #notes: Note[] = [];

  add(hook: string, side: Side, result: HookResult, durationMs: number): void {
    const known = this.#notes.find((note) => note.hook === hook && note.side === side);
    if (known === undefined) {
      this.#notes.push({ hook, side, result, checks: 1, durationMs });
      return;
    }
    known.checks += 1;
    known.durationMs += durationMs;
    if (WEIGHT.indexOf(result) > WEIGHT.indexOf(known.result)) known.result = result;
  }

  /** Undefined: none was asked. */
  get text(): string | undefined {
    if (this.#notes.length === 0) return undefined;
    return this.#notes
      .map(
        ({ hook, side, result, checks, durationMs }) =>
          `${hook}/${side}=${result};ms=${Math.round(durationMs)}${checks > 1 ? `;checks=${checks}` : ''}`,
      )
      .join(', ');
  }
}
