/** Never exists, so that `SET … XX` changes nothing, neither in memory nor in the append-only file. */
const NO_KEY = 'gateway:takes-writes';

/** What a probe needs of a client. */
interface Writer {
  /** Writes only where the key exists. */
  set(key: string, value: string, condition: 'XX'): Promise<unknown>;
}

/** Why Redis refuses writes; undefined if it takes them. Rejects when there is no answer. */
export async function refusalOfWrites(redis: Writer): Promise<Error | undefined> {
  try {
    await redis.set(NO_KEY, '', 'XX');
    return undefined;
  } catch (error) {
    const refusal = refusalIn(error);
    if (refusal === undefined) throw error;
    return refusal;
  }
}

/** The error reply of Redis itself, as opposed to no answer. */
export function refusalIn(error: unknown): Error | undefined {
  if (!(error instanceof Error)) return undefined;
  return error.name === 'ReplyError' ? error : refusalIn(error.cause);
}
