import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    isLongRun: boolean;
  }
}

/**
 * Whether this run tries every case of the generated tables (`npm run test:long`). `npm test` tries a part of them, the same
 * each time, in which every two properties of a case still meet.
 */
export const isLongRun: boolean = inject('isLongRun');
