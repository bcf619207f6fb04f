import type { Team } from '../api/types.ts';
/** What each limit bounds, as forms explain it. */
export interface LimitField {
  readonly name:
    | 'requestsPerMinute'
    | 'tokensPerMinute'
    | 'imagesPerMinute'
    | 'audioSecondsPerMinute'
    | 'concurrentRequests';
  readonly label: string;
  readonly about: string;
}

/** Limits that keys and teams have alike. */
export const LIMITS: readonly LimitField[] = [
  {
    name: 'requestsPerMinute',
    label: 'Requests per minute',
    about: 'Requests that may start within a minute. An idle key may send all of them at once.',
  },
  {
    name: 'tokensPerMinute',
    label: 'Tokens per minute',
    about:
      'Input and output together. The most that a request can use is reserved before it is sent; the unused part is returned.',
  },
  {
    name: 'imagesPerMinute',
    label: 'Images per minute',
    about: 'Images that may be requested, counted when the request arrives.',
  },
  {
    name: 'audioSecondsPerMinute',
    label: 'Seconds of audio per minute',
    about: 'The length of the recordings to transcribe.',
  },
  {
    name: 'concurrentRequests',
    label: 'Concurrent requests',
    about: 'Requests in flight, including streams. Further ones are refused until one ends.',
  },
];

type JobLimitName = 'concurrentJobs' | 'jobWeight' | 'jobPriority' | 'keptResultBytes';

/** What only keys have: how their jobs share the workers with those of other keys. */
export const JOB_LIMITS: readonly {
  name: JobLimitName;
  label: string;
  about: string;
  min: number;
  max?: number;
}[] = [
  {
    name: 'concurrentJobs',
    label: 'Concurrent jobs',
    about: 'Jobs that workers run for this key at once; further ones wait in the queue.',
    min: 1,
  },
  {
    name: 'jobWeight',
    label: 'Job weight',
    about: 'Turns that this key gets for each turn of a key without a weight.',
    min: 1,
    max: 100,
  },
  {
    name: 'jobPriority',
    label: 'Job priority',
    about: 'Jobs with a lower number run first, 0 before all others. Default: 5.',
    min: 0,
    max: 9,
  },
  {
    name: 'keptResultBytes',
    label: 'Stored result bytes',
    about: 'How much space the results of this key may take until they expire.',
    min: 1,
  },
];

export const PERIODS = [
  { value: 'day', label: 'per day' },
  { value: 'week', label: 'per week' },
  { value: 'month', label: 'per month' },
  { value: 'total', label: 'in total' },
] as const;
export type Period = (typeof PERIODS)[number]['value'];

const LABELS: Readonly<Record<string, string>> = Object.fromEntries(
  [...LIMITS, ...JOB_LIMITS].map(({ name, label }) => [name, label]),
);

export const limitLabel = (name: string): string => LABELS[name] ?? name;

export const periodLabel = (period: string): string =>
  PERIODS.find(({ value }) => value === period)?.label ?? period;

/** All limits of a team in a line. */
export const limitsOf = ({ limits: { models = {}, ...limits } }: Pick<Team, 'limits'>): string => {
  const own = Object.entries(limits).map(([name, value]) => `${limitLabel(name)}: ${value}`);
  const patterns = Object.keys(models);
  return (
    [...own, ...(patterns.length === 0 ? [] : [`limits for ${patterns.join(', ')}`])].join('; ') || 'none'
  );
};
