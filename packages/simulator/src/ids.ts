import { randomBytes } from 'node:crypto';

/** Makes ids that are unique over restarts and, for a fixed seed, the same in every run. */
export interface Ids {
  /** `resp_` and 40 hexadecimal digits, for example. */
  next(prefix: string): string;
}

export const createIds = (seed: string = randomBytes(12).toString('hex')): Ids => {
  let count = 0;
  return {
    next: (prefix) => {
      count += 1;
      return `${prefix}${seed.padStart(24, '0')}${count.toString(16).padStart(16, '0')}`;
    },
  };
};
