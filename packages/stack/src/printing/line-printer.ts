import { StartError } from '../start-error.ts';
import { clean, clockTime, LogRecord, type Paint, painter, requestLine } from './request-line.ts';
import { createRequestMerger } from './request-merger.ts';

export interface LinePrinter {
  /** Lines that a process wrote. */
  lines(process: string, texts: readonly string[]): void;
  /** A line of our own. */
  report(text: string): void;
  /** Prints the lines held back so far, and each later one at once. */
  open(): void;
  /** Prints requests that still wait for other lines. */
  close(): void;
}

interface LinePrinterOptions {
  /** One line per request for a person, instead of JSON. */
  readonly pretty: boolean;
  readonly color: boolean;
  readonly write: (text: string) => void;
  /** Calls back later, without keeping the process alive for it. */
  readonly schedule: (callback: () => void, delayMs: number) => void;
}

const MAX_HELD_LINES = 1_000;
const WARN = 40;

/** Prints the processes' log lines; until it is opened it holds them back, so that they come below the start message. */
export function createLinePrinter({ pretty, color, write, schedule }: LinePrinterOptions): LinePrinter {
  const paint = painter(color);
  const wrapped = (service: string, level: number, msg: string): string =>
    JSON.stringify({ level, time: new Date().toISOString(), service, msg });
  const merger = createRequestMerger({
    onRequest: (record) => write(`${requestLine(record, paint)}\n`),
    schedule,
  });
  const printPretty = (record: LogRecord): void => {
    const isOfJob = record.jobId !== undefined && record.webhookId === undefined;
    const isUnitOfWork = record.method !== undefined || isOfJob;
    const text = isUnitOfWork ? null : otherLine(record, paint);
    if (isUnitOfWork) merger.add(record);
    else if (text !== null) write(`${text}\n`);
  };
  // JSON is passed on in one write: a write per line costs more than the line.
  const print = (jsonLines: readonly string[]): void => {
    if (pretty) for (const jsonLine of jsonLines) printPretty(recordIn(jsonLine));
    else if (jsonLines.length > 0) write(`${jsonLines.join('\n')}\n`);
  };
  const held: string[] = [];
  let isOpen = false;

  return {
    lines: (process, texts) => {
      const jsonLines = texts.map((text) => (text.startsWith('{') ? text : wrapped(process, WARN, text)));
      if (isOpen) print(jsonLines);
      else held.push(...jsonLines.slice(0, MAX_HELD_LINES - held.length));
    },
    report: (text) => (isOpen ? print([wrapped('starter', WARN, text)]) : write(`${text}\n`)),
    open: () => {
      isOpen = true;
      print(held.splice(0));
    },
    close: () => merger.flush(),
  };
}

/** By LOG_FORMAT, else by whether the output is a terminal. @throws StartError for another value */
export function wantsPretty(format: string | undefined, isTerminal: boolean): boolean {
  if (!format) return isTerminal;
  if (format === 'pretty' || format === 'json') return format === 'pretty';
  throw new StartError('LOG_FORMAT must be pretty or json.');
}

function recordIn(jsonLine: string): LogRecord {
  try {
    return LogRecord.parse(JSON.parse(jsonLine));
  } catch {
    return { level: WARN, msg: jsonLine };
  }
}

/** Members of a line that its text contains already. */
const SHOWN = new Set(['level', 'time', 'service', 'msg', 'err']);
/** Members that the start message and the prompt show. */
const ROUTINE = new Set(['ready', 'stopping', 'stopped']);
const MAX_VALUE_CHARS = 300;
const MAX_STACK_LINES = 6;

/** `12:00:00  WARN  text  redis is away  reason=…`; null for a line without news. */
function otherLine(record: LogRecord, paint: Paint): string | null {
  const { level, msg = '', service = '' } = record;
  if (level < WARN && ROUTINE.has(msg)) return null;
  const [name, color] =
    level >= 50
      ? (['ERROR', 'red'] as const)
      : level >= WARN
        ? (['WARN ', 'yellow'] as const)
        : (['INFO ', 'dim'] as const);
  const facts = Object.entries(record)
    .filter(([key, value]) => !SHOWN.has(key) && value !== undefined)
    .map(([key, value]) =>
      `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`.slice(0, MAX_VALUE_CHARS),
    );
  const line = [
    paint('dim', clockTime(record.time)),
    paint(color, name),
    clean(service),
    clean(msg),
    ...facts.map(clean),
  ];
  const stack = stackOf(record).map((each) => paint('dim', `          ${clean(each)}`));
  return [line.join('  '), ...stack].join('\n');
}

function stackOf({ err }: LogRecord): string[] {
  if (typeof err !== 'object' || err === null) return [];
  const text = 'stack' in err ? err.stack : 'message' in err ? err.message : '';
  return typeof text === 'string' ? text.split('\n').slice(0, MAX_STACK_LINES) : [];
}
