import { z } from 'zod';

/** pino's numbers: 50 is an error, 60 is fatal. */
const ErrorLine = z.looseObject({
  level: z.number().min(50),
  msg: z.string().default(''),
  err: z.looseObject({ message: z.string() }).optional(),
});

/** What a log line gives as the reason of a failure; null if it is not an error's line. */
export function reasonOf(line: string): string | null {
  if (!line.startsWith('{')) return null;
  try {
    const { data } = ErrorLine.safeParse(JSON.parse(line));
    return data ? [data.msg, data.err?.message].filter(Boolean).join(': ') : null;
  } catch {
    return null;
  }
}
