import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    isLongRun: boolean;
  }
}

/**
 * Whether this run tries every case of the tables, and the whole of the long stories (`npm run test:long`). `npm test` tries a
 * part of them, the same each time, in which every two properties of a case still meet.
 */
export const isLongRun: boolean = inject('isLongRun');

/** Every nth of these cases, beginning with that of the number `from`; in a long run all. */
export const everyNth = <Case>(cases: readonly Case[], n: number, from = 0): readonly Case[] =>
  isLongRun ? cases : cases.filter((_, at) => at % n === from % n);
