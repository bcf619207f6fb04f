import { randomUUID } from 'node:crypto';

/** An id of ours, such as `conv_…`. */
export const newId = (prefix: string): string => prefix + randomUUID().replaceAll('-', '');
