import { z } from 'zod';
import { cellText, table } from './table.ts';

const Rest = z.looseObject({
  account: z.string().nullable(),
  model: z.string().nullable(),
  state: z.string(),
  cause: z.string().nullable(),
  reason: z.string(),
  by: z.string().nullable(),
  secondsLeft: z.number().nullable(),
});
type Rest = z.infer<typeof Rest>;

const Channels = z.array(z.looseObject({ rests: z.array(Rest) }));
const Rested = z.looseObject({ name: z.string(), rests: z.array(Rest), warnings: z.array(z.string()) });

const whatRests = ({ account, model }: Rest): string =>
  [model !== null && `model ${model}`, account !== null && `account ${account}`].filter(Boolean).join(', ') ||
  'all of it';

const timeLeft = ({ state, cause, secondsLeft }: Rest): string => {
  if (state === 'unproven') return 'the next request shows how it does';
  if (secondsLeft !== null) return `${Math.ceil(secondsLeft)} s left`;
  return cause === null ? 'until woken' : 'until the channel has another key';
};

const restText = (rest: Rest): string => {
  const who = rest.by === null ? '' : ` (${rest.by})`;
  return `${whatRests(rest)}: ${rest.reason}${who}, ${timeLeft(rest)}`;
};

const restsText = (rests: readonly Rest[]): string =>
  rests.map((rest) => `\n  ${restText(rest)}`).join('') || ' nothing';

export function channelsText(answer: unknown): string {
  const channels = Channels.parse(answer);
  const cells = channels.map(({ name, provider, origin, speaks, models, rests }) =>
    [name, provider, origin, speaks, models, rests.length === 0 ? 'no' : 'yes'].map(cellText),
  );
  const resting = channels
    .filter(({ rests }) => rests.length > 0)
    .map(({ name, rests }) => `\n\nOf ${cellText(name)} rests:${restsText(rests)}`);
  return table(['NAME', 'PROVIDER', 'ORIGIN', 'SPEAKS', 'MODELS', 'RESTS'], cells) + resting.join('');
}

export function restedText(answer: unknown): string {
  const { name, rests, warnings } = Rested.parse(answer);
  return [`Of ${name} rests now:${restsText(rests)}`, ...warnings.map((one) => `Warning: ${one}`)].join('\n');
}

export function wokenText(answer: unknown): string {
  const { name, rests } = Rested.parse(answer);
  return `Of ${name} rests now:${restsText(rests)}`;
}

const Tested = z.looseObject({
  isOk: z.boolean(),
  model: z.string(),
  requestId: z.string(),
  status: z.number().nullable(),
  error: z.string().nullable(),
  firstOutputMs: z.number().nullable(),
  totalMs: z.number(),
});

export function testedText(answer: unknown): string {
  const { isOk, model, requestId, status, error, firstOutputMs, totalMs } = Tested.parse(answer);
  const first = firstOutputMs === null ? '' : `, the first output after ${firstOutputMs} ms`;
  const outcome = isOk ? `It answered in ${totalMs} ms${first}.` : `It failed after ${totalMs} ms${first}.`;
  const why = error === null ? [] : [status === null ? error : `${status}: ${error}`];
  return [outcome, ...why, `Model ${model}, request ${requestId}`].join('\n');
}
