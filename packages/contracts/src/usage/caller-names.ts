import { z } from 'zod';

/** By what a caller finds its requests again: whom it sent them for, the conversation that they belong to, a name of its own. */
export const CALLER_NAMES = ['endUser', 'session', 'label'] as const;
export type CallerName = (typeof CALLER_NAMES)[number];

/** Longer ones are cut. */
export const MAX_CALLER_NAME_LENGTH = 256;
const name = z.string().min(1).max(MAX_CALLER_NAME_LENGTH).optional();

/** Absent: the caller gave none. */
export const CallerNames = z.object({ endUser: name, session: name, label: name } satisfies Record<
  CallerName,
  z.ZodType
>);
export type CallerNames = z.infer<typeof CallerNames>;

/** The headers by which any caller can give them. */
export const CALLER_NAME_HEADERS: Readonly<Record<CallerName, string>> = {
  endUser: 'x-gateway-user',
  session: 'x-gateway-session',
  label: 'x-gateway-label',
};
