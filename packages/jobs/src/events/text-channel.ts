/** Texts on their way from one writer to one reader, in order. Bounded by what the writer may push. */
export interface TextChannel extends AsyncIterable<string> {
  push(text: string): void;
  /** Nothing more comes; the reader's loop ends after what is left. */
  end(): void;
}

export function createTextChannel(): TextChannel {
  const waiting: string[] = [];
  let ended = false;
  let wake: (() => void) | undefined;
  const notify = () => {
    wake?.();
    wake = undefined;
  };
  return {
    push: (text) => {
      if (ended) return;
      waiting.push(text);
      notify();
    },
    end: () => {
      ended = true;
      notify();
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        const text = waiting.shift();
        if (text !== undefined) yield text;
        else if (ended) return;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    },
  };
}
