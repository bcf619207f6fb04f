import { prettyFactory } from 'pino-pretty';

export interface LinePrinter {
  /** A line that a process wrote. */
  line(process: string, text: string): void;
  /** A line of our own. */
  report(text: string): void;
  /** Prints what has been held back, and holds nothing back from now on. */
  open(): void;
}

interface LinePrinterOptions {
  /** Lines for a person instead of JSON. */
  readonly pretty: boolean;
  readonly write: (text: string) => void;
}

const MAX_HELD_LINES = 1_000;

/** Prints the processes' log lines; until it is opened it holds them back, so that they come below the start message. */
export function createLinePrinter({ pretty, write }: LinePrinterOptions): LinePrinter {
  const prettify = prettyFactory({
    colorize: true,
    ignore: 'pid,hostname,service',
    messageFormat: '{service} {msg}',
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss.l',
  });
  const wrapped = (service: string, level: number, msg: string): string =>
    JSON.stringify({ level, time: new Date().toISOString(), service, msg });
  const print = (jsonLine: string): void => write(pretty ? prettify(jsonLine) : `${jsonLine}\n`);
  const held: string[] = [];
  let isOpen = false;

  return {
    line: (process, text) => {
      const jsonLine = text.startsWith('{') ? text : wrapped(process, 40, text);
      if (isOpen) print(jsonLine);
      else if (held.length < MAX_HELD_LINES) held.push(jsonLine);
    },
    report: (text) => (isOpen ? print(wrapped('starter', 40, text)) : write(`${text}\n`)),
    open: () => {
      isOpen = true;
      for (const jsonLine of held.splice(0)) print(jsonLine);
    },
  };
}
