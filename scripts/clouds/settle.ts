import { errorMessage } from '@gateway/contracts/error-message';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import { askOf } from './ask.ts';
import { CLAUDE_QUESTIONS, isClaude, thinkingBetween } from './claude.ts';
import { NOT_ASKED, OTHER_QUESTIONS } from './others.ts';
import type { Finding, Question, Target } from './question.ts';

/** How many pairs of platforms exchange thinking: each costs two answers with thoughts. */
const MAX_PAIRS = 6;
const QUESTIONS: readonly Question[] = [...CLAUDE_QUESTIONS, ...OTHER_QUESTIONS];

export interface SettleOptions {
  readonly configuration: Configuration;
  /** A channel's name; null: all of them. */
  readonly only: string | null;
  /** Whether the questions are listed and not asked. */
  readonly listsOnly: boolean;
  readonly print: (line: string) => void;
}

/** Asks the clouds of a configuration what is not known of them for certain. Resolves to how many questions stay open. */
export async function settle({ configuration, only, listsOnly, print }: SettleOptions): Promise<number> {
  const targets = targetsIn(configuration).filter(({ channel }) => only === null || channel.name === only);
  let open = 0;
  const ask = async (title: string, settleOne: () => Promise<Finding>) => {
    print(`\n${title}`);
    if (listsOnly) return;
    const { answer, found, set } = await settleOne().catch(failed);
    if (answer === 'unclear') open += 1;
    print(`  ${answer}: ${found}`);
    if (set !== undefined) print(`  set: ${set}`);
  };
  let asked = 0;
  for (const target of targets)
    for (const { name, asks, isFor, settle: settleOne } of QUESTIONS) {
      if (!isFor(target)) continue;
      asked += 1;
      await ask(`${target.channel.name}, ${target.model}: ${asks} [${name}]`, () => settleOne(target));
    }
  for (const [from, to] of pairsOf(targets.filter(isClaude))) {
    asked += 1;
    const title = `${from.channel.name} to ${to.channel.name}: Is Claude's thinking taken by the other platform? [thinking-between]`;
    await ask(title, () => thinkingBetween(from, to));
  }
  if (asked === 0) print('No channel of this configuration leads to a cloud of which something is unknown.');
  print('\nNot to be settled by requests:');
  for (const line of NOT_ASKED) print(`  ${line}`);
  return open;
}

const failed = (error: unknown): Finding => ({
  answer: 'unclear',
  found: `no answer: ${errorMessage(error)}`,
});

/** Each model of each channel once. */
function targetsIn({ models }: Configuration): readonly Target[] {
  const found = new Map<string, Target>();
  for (const { kind, routes, pattern } of models)
    for (const route of routes) {
      const { channel } = route;
      const model = route.model ?? pattern;
      if (model.includes('*') || kind !== 'text') continue;
      const [account] = channel.accounts;
      const key = `${channel.name} ${model}`;
      if (!found.has(key)) found.set(key, { channel, route, model, ask: askOf(channel, account) });
    }
  return [...found.values()];
}

function pairsOf(targets: readonly Target[]): readonly (readonly [Target, Target])[] {
  const pairs = targets.flatMap((from) =>
    targets.filter((to) => to.channel.name !== from.channel.name).map((to) => [from, to] as const),
  );
  return pairs.slice(0, MAX_PAIRS);
}
