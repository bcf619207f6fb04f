import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { CommandError } from '../cli/admin-client.ts';

/** A person at a terminal. */
export interface Terminal {
  /** Rejects with a `CommandError` where the terminal is left. Resolves to the line that the person types; `fallback` for an empty one. */
  ask(question: string, fallback: string): Promise<string>;
  /** The same, and what is typed is not shown. */
  askSecret(question: string): Promise<string>;
}

interface Streams {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
}

export function openTerminal({ input, output }: Streams): Terminal {
  const askOn = async (shown: NodeJS.WritableStream, question: string): Promise<string> => {
    // From here on the terminal itself shows nothing that is typed: the question comes after.
    const lines = createInterface({ input, output: shown, terminal: true });
    output.write(question);
    // What the person has pressed Ctrl-C or Ctrl-D at is given up, as everywhere.
    const left = new Promise<never>((_, reject) =>
      lines.once('close', () => reject(new CommandError('\nNo configuration was written.'))),
    );
    try {
      return (await Promise.race([lines.question(''), left])).trim();
    } finally {
      lines.close();
    }
  };
  return {
    ask: async (question, fallback) => (await askOn(output, `${question}: `)) || fallback,
    askSecret: async (question) => {
      const secret = await askOn(
        new Writable({ write: (_chunk, _encoding, done) => done() }),
        `${question}: `,
      );
      output.write('\n');
      return secret;
    },
  };
}
