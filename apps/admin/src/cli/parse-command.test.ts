import { expect, test } from 'vitest';
import { settingsBody } from './commands/settings-body.ts';
import { parseCommand } from './parse-command.ts';

/** The request of a command line. */
function sentBy(argv: readonly string[]): unknown {
  const command = parseCommand(argv);
  return command.name === 'call' ? command.row.body?.(command.values, command.argument) : command.name;
}

test.for([[[]], [['--help']], [['-h']], [['keys', 'create', '--help']]])('%j prints help', ([argv = []]) => {
  expect(sentBy(argv)).toBe('help');
});

test.for([
  [['keys'], 'Which command? keys create, keys list'],
  [['keys', 'destroy'], 'Unknown command: keys destroy'],
  [['models'], 'Unknown command: models'],
  [['constructor'], 'Unknown command: constructor'],
  [['__proto__', 'x'], 'Unknown command: __proto__'],
  [['keys', 'revoke'], 'Missing argument: keys revoke ID'],
  [['keys', 'list', 'all'], 'Unexpected argument: all'],
  [['keys', 'revoke', 'key_1', 'key_2'], 'Unexpected argument: key_2'],
  [['keys', 'create', '--colour', 'red'], "Unknown option '--colour'"],
  [['keys', 'create', '--name'], "'--name <value>' argument missing"],
  [['keys', 'create', '--label', 'no-value'], 'A label must be NAME=VALUE, not no-value'],
  [['keys', 'create', '--limit', 'tokensPerMinute'], 'A limit must be NAME=VALUE, not tokensPerMinute'],
  [['keys', 'update', 'key_1', '--enable', '--disable'], 'Use either --disable or --enable'],
  [['keys', 'list', '--name', 'x'], 'keys list has no option --name'],
  [['teams'], 'Which command? teams create'],
  [['usage', 'everything'], 'Unexpected argument: everything'],
] as const)('%j is refused: %s', ([argv, message]) => {
  expect(() => sentBy(argv)).toThrow(message);
});

const OF_ALL =
  'Limits are requestsPerMinute, tokensPerMinute, imagesPerMinute, audioSecondsPerMinute, concurrentRequests, ' +
  'concurrentJobs, jobWeight, jobPriority, keptResultBytes';
const OF_MODELS = 'Limits are requestsPerMinute, tokensPerMinute, imagesPerMinute, audioSecondsPerMinute.';

test.for([
  [['--limit', 'foo=1'], `Unknown limit: foo. ${OF_ALL}.`],
  [['--limit', 'models=1'], `Unknown limit: models. ${OF_ALL}.`],
  [['--limit', '__proto__=1'], `Unknown limit: __proto__. ${OF_ALL}.`],
  [['--limit', 'toString=1'], `Unknown limit: toString. ${OF_ALL}.`],
  [['--remove', 'limits.foo'], `Unknown limit: foo. ${OF_ALL}, models.`],
  [['--model-limit', 'gpt-*:foo=1'], `Unknown limit: foo. ${OF_MODELS}`],
  [['--model-limit', 'gpt-*:concurrentRequests=1'], `Unknown limit: concurrentRequests. ${OF_MODELS}`],
  [['--model-limit', 'tokensPerMinute=5'], 'A model limit must be PATTERN:NAME=COUNT, not tokensPerMinute=5'],
] as const)('an unknown limit is refused with the list of limits: %j', ([options, message]) => {
  expect(() => sentBy(['keys', 'update', 'key_1', ...options])).toThrow(message);
});

test("a body has the options' members, and null for removed ones", () => {
  const argv = [
    ...[
      'teams',
      'update',
      'data',
      '--limit',
      'requestsPerMinute=60',
      '--model-limit',
      'a:b*:tokensPerMinute=5',
    ],
    ...['--remove', 'limits.tokensPerMinute', '--remove', 'limits.models.gpt-4.1*', '--remove', 'budget'],
  ];
  expect(sentBy(argv)).toEqual({
    limits: {
      requestsPerMinute: 60,
      tokensPerMinute: null,
      models: { 'a:b*': { tokensPerMinute: 5 }, 'gpt-4.1*': null },
    },
    budget: null,
  });
});

test('an inherited name of objects is a name like any other', () => {
  const { values } = {
    values: {
      disable: false,
      enable: false,
      failed: false,
      remove: ['__proto__', 'limits.models.__proto__'],
    },
  };
  const body = settingsBody({
    'allow-unpriced': false,
    'send-email': false,
    json: false,
    help: false,
    ...values,
  });
  expect(JSON.stringify(body)).toBe('{"__proto__":null,"limits":{"models":{"__proto__":null}}}');
});
