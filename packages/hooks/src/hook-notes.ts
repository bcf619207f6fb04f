import { type HookNote, HookResult, writeHookNotes } from '@gateway/contracts/usage/hook-notes';
import { MAX_DETAIL_LENGTH } from '@gateway/contracts/usage/usage-detail';
import type { Side } from './check.ts';

interface Note extends Pick<HookNote, 'hook' | 'side'> {
  result: HookResult;
  checks: number;
  durationMs: number;
}

/** From what says least. */
const WEIGHT = HookResult.options;

/** What hooks did to one request. */
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

  /** In one line; undefined: none was asked. */
  get text(): string | undefined {
    if (this.#notes.length === 0) return undefined;
    const notes = this.#notes.map(({ durationMs, ...note }) => ({ ...note, ms: Math.round(durationMs) }));
    // A usage record with a longer one would lose all of its details.
    return writeHookNotes(notes).slice(0, MAX_DETAIL_LENGTH);
  }
}
