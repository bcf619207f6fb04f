import type { Mistake } from '../../api/types.ts';

/** What is wrong and what belongs there, without the position. */
export const mistakeText = ({ path, found, expected }: Mistake): string =>
  `${path === '' ? '' : `${path}: `}found ${found}, expected ${expected}.`;
