/** Notices that Redis was emptied, as long as there is something that it may have lost by that. */
export interface EpochWatch {
  /** Something has just been written that would be lost. */
  wake(): void;
  close(): void;
}

interface EpochWatchOptions {
  /** Another value since Redis was emptied; null until it is filled again. */
  readonly readEpoch: () => Promise<string | null>;
  readonly onEmptied: () => void;
  /** Default: a second. */
  readonly everyMs?: number;
}

const EVERY_MS = 1000;
/** The database has within a second or two what was written; then nothing is lost any more. */
const ROUNDS = 10;

export function createEpochWatch({
  readEpoch,
  onEmptied,
  everyMs = EVERY_MS,
}: EpochWatchOptions): EpochWatch {
  /** Undefined: it has not been read yet. */
  let known: string | null | undefined;
  let roundsLeft = 0;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const look = async (): Promise<void> => {
    const epoch = await readEpoch();
    if (known !== undefined && epoch !== known) onEmptied();
    known = epoch;
  };
  const next = async (): Promise<void> => {
    // While Redis is away nobody knows; who watches it reports that.
    await look().catch(() => undefined);
    timer = undefined;
    roundsLeft -= 1;
    if (roundsLeft > 0) schedule();
  };
  const schedule = (): void => {
    if (!isClosed) timer ??= setTimeout(() => void next(), everyMs).unref();
  };
  look().catch(() => undefined);

  return {
    wake: () => {
      roundsLeft = ROUNDS;
      schedule();
    },
    close: () => {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
