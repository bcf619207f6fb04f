import { z } from 'zod';
import { cellText, Rows, type Text, table, warningText } from './table.ts';

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
const WithRests = z.looseObject({ name: z.string(), rests: z.array(Rest) });

const whatRests = ({ account, model }: Rest): string =>
  [model !== null && `model ${model}`, account !== null && `account ${account}`].filter(Boolean).join(', ') ||
  'the whole channel';

const timeLeft = ({ state, cause, secondsLeft }: Rest): string => {
  if (state === 'unproven') return 'on trial with the next request';
  if (secondsLeft !== null) return `${Math.ceil(secondsLeft)} s left`;
  return cause === null ? 'until woken' : 'until the channel gets another key';
};

const restText = (rest: Rest): string => {
  const who = rest.by === null ? '' : ` (${rest.by})`;
  return `\n  ${whatRests(rest)}: ${rest.reason}${who}, ${timeLeft(rest)}`;
};

const restsText = ({ name, rests }: z.infer<typeof WithRests>): string =>
  `Resting in ${cellText(name)}:${rests.map(restText).join('') || ' nothing'}`;

export const channelsText: Text = (answer, nowMs) => {
  const resting = z
    .array(WithRests)
    .parse(answer)
    .filter(({ rests }) => rests.length > 0);
  const columns = {
    NAME: 'name',
    PROVIDER: 'provider',
    ORIGIN: 'origin',
    SPEAKS: 'speaks',
    MODELS: 'models',
    RESTING: ({ name }: { name?: unknown }) => (resting.some((one) => one.name === name) ? 'yes' : 'no'),
  };
  return [table(columns, Rows.parse(answer), nowMs), ...resting.map(restsText)].join('\n\n');
};

/** What rests of a channel after a change. */
export const restedText: Text = (answer) => {
  const channel = WithRests.parse(answer);
  return restsText(channel) + warningText(channel.warnings);
};

const Tested = z.looseObject({
  isOk: z.boolean(),
  model: z.string(),
  requestId: z.string(),
  status: z.number().nullable(),
  error: z.string().nullable(),
  detail: z.string().nullish(),
  firstOutputMs: z.number().nullable(),
  totalMs: z.number(),
});

export const testedText: Text = (answer) => {
  const { isOk, model, requestId, status, error, detail, firstOutputMs, totalMs } = Tested.parse(answer);
  const first = firstOutputMs === null ? '' : `, first output after ${firstOutputMs} ms`;
  const outcome = isOk ? `Answered in ${totalMs} ms${first}.` : `Failed after ${totalMs} ms${first}.`;
  const why = error === null ? [] : [status === null ? error : `${status}: ${error}`];
  if (detail) why.push(`Detail: ${cellText(detail)}`);
  return [outcome, ...why, `Model ${model}, request ${requestId}`].join('\n');
};

const Tried = z.object({
  attempts: z.array(z.object({ channel: z.string(), account: z.string(), outcome: z.string() })),
  output: z.string(),
});

export const triedText: Text = (answer, nowMs) => {
  const { attempts, output } = Tried.parse(answer);
  const tried = attempts.map(({ channel, account, outcome }) => `${channel} (${account}) ${outcome}`);
  return [
    testedText(answer, nowMs),
    ...(tried.length === 0 ? [] : [`Channels: ${tried.join(', ')}`]),
    ...(output === '' ? [] : ['', ...output.split('\n').map(cellText)]),
  ].join('\n');
};
