import { styleText } from 'node:util';
import { z } from 'zod';

const text = z.string().optional().catch(undefined);
const number = z.number().optional().catch(undefined);

/** The members of a log line that a person sees. All of them may come from a caller. */
export const LogRecord = z.looseObject({
  level: z.number().catch(30),
  time: text,
  service: text,
  msg: text,
  method: text,
  path: text,
  requestedPath: text,
  requestId: text,
  jobId: text,
  webhookId: text,
  kind: text,
  status: number,
  outcome: text,
  durationMs: number,
  forwardedTo: text,
  model: text,
  channel: text,
  upstreamModel: text,
  inputTokens: number,
  outputTokens: number,
  images: number,
  characters: number,
  audioSeconds: number,
  costMicroUsd: number,
  'error.code': text,
  'error.source': text,
  'error.cause': text,
  upstreamStatus: number,
  upstreamFailure: text,
});
export type LogRecord = z.infer<typeof LogRecord>;

type Color = 'green' | 'yellow' | 'red' | 'dim' | 'cyan';
/** Colors a text, or leaves it as it is. */
export type Paint = (color: Color, text: string) => string;
export const painter =
  (color: boolean): Paint =>
  (name, plain) =>
    color && plain !== '' ? styleText(name, plain, { validateStream: false }) : plain;

const MAX_CAUSE_LINES = 4;
const MAX_TEXT_CHARS = 200;
const CONTROL = /\p{Cc}/gu;

/** A caller's text, made harmless for a terminal. */
export const clean = (value: string): string => value.slice(0, MAX_TEXT_CHARS).replaceAll(CONTROL, '?');

export const clockTime = (time: string | undefined): string => {
  const date = new Date(time ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? '--:--:--' : date.toTimeString().slice(0, 8);
};

const duration = (ms: number): string =>
  ms < 1000
    ? `${Math.round(ms)} ms`
    : ms < 60_000
      ? `${(ms / 1000).toFixed(1)} s`
      : `${Math.round(ms / 1000)} s`;

const plural = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? '' : 's'}`;

const consumption = ({ inputTokens, outputTokens, images, characters, audioSeconds }: LogRecord): string =>
  [
    inputTokens !== undefined || outputTokens !== undefined
      ? `${inputTokens ?? 0} → ${outputTokens ?? 0} tokens`
      : '',
    images === undefined ? '' : plural(images, 'image'),
    characters === undefined ? '' : plural(characters, 'character'),
    audioSeconds === undefined ? '' : `${Number(audioSeconds.toFixed(1))} s of audio`,
  ]
    .filter((part) => part !== '')
    .join(', ');

/** Micro-dollars are never rounded away. */
const cost = (microUsd: number): string => `$${(microUsd / 1e6).toFixed(6).replace(/0{1,4}$/, '')}`;

const route = ({ model, channel, upstreamModel }: LogRecord): string => {
  if (model === undefined) return '';
  const target = channel === undefined ? '' : ` → ${channel}`;
  return clean(`${model}${target}${upstreamModel === undefined ? '' : ` (${upstreamModel})`}`);
};

const colorOf = ({ status = 0, outcome }: LogRecord): Color => {
  if (status >= 500 || outcome === 'failed') return 'red';
  return status >= 400 || outcome === 'left' || outcome === 'cancelled' ? 'yellow' : 'green';
};

/** `200`, `401 missing_key`, `200 failed upstream_failed`, `499 left`; of a job, which has no status, its outcome. */
const result = (record: LogRecord): string => {
  const { status, outcome } = record;
  const isPlain = outcome === 'ok' || outcome === 'refused' || (outcome === 'failed' && (status ?? 0) >= 500);
  return [status === undefined ? '' : String(status), isPlain ? '' : outcome, record['error.code']]
    .filter((part) => part !== undefined && part !== '')
    .join(' ');
};

/** One line for a request or a job; below a failed one, what the operator needs to find its cause. */
export function requestLine(record: LogRecord, paint: Paint): string {
  const isJob = record.kind !== undefined && record.method === undefined;
  const what = isJob
    ? `job ${record.kind}`
    : `${record.method ?? ''} ${record.requestedPath ?? record.path ?? ''}`;
  const { costMicroUsd, durationMs } = record;
  const parts = [
    paint('dim', clockTime(record.time)),
    clean(what),
    paint('cyan', route(record)),
    paint(colorOf(record), clean(result(record))),
    consumption(record),
    costMicroUsd === undefined ? '' : cost(costMicroUsd),
    durationMs === undefined ? '' : paint('dim', duration(durationMs)),
  ];
  const line = parts.filter((part) => part !== '').join('  ');
  return [line, ...failureLines(record).map((detail) => paint('dim', `          ${detail}`))].join('\n');
}

function failureLines(record: LogRecord): string[] {
  if (record.outcome !== 'failed') return [];
  const { requestId, jobId, upstreamStatus, upstreamFailure } = record;
  const facts = [
    requestId === undefined ? '' : `request ${requestId}`,
    jobId === undefined ? '' : `job ${jobId}`,
    record['error.source'] === undefined ? '' : `by the ${record['error.source']}`,
    upstreamStatus === undefined ? '' : `upstream status ${upstreamStatus}`,
    upstreamFailure === undefined ? '' : `upstream ${upstreamFailure}`,
  ];
  const cause = (record['error.cause'] ?? '').split('\n').filter((line) => line.trim() !== '');
  return [facts.filter((fact) => fact !== '').join(', '), ...cause.slice(0, MAX_CAUSE_LINES)]
    .filter((line) => line !== '')
    .map(clean);
}
