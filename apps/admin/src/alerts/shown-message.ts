import type { Finding } from '../findings/finding.ts';
import { counted } from '../findings/wording.ts';
import type { Message, SomeFindings } from './message.ts';

/** A message as people read it, before it takes the form of its receiver. */
export interface ShownMessage {
  readonly title: string;
  readonly isUrgent: boolean;
  readonly sections: readonly {
    readonly heading: string | null;
    readonly items: readonly { readonly head: string; readonly lines: readonly string[] }[];
  }[];
  /** Where a person sees more. */
  readonly link: string | null;
}

interface Shown {
  readonly timeZone: string;
  /** The console's address. */
  readonly consoleUrl: string | null;
}

export function shownMessage(message: Message, shown: Shown): ShownMessage {
  switch (message.type) {
    case 'alert':
      return shownAlert(message, shown);
    case 'report':
      return shownReport(message, shown);
    case 'test':
      return {
        title: 'Test message of the gateway',
        isUrgent: false,
        sections: [
          {
            heading: null,
            items: [{ head: `${message.by} sent this to check the receiver. It works.`, lines: [] }],
          },
        ],
        link: linkTo(shown, '/alerts'),
      };
  }
}

const linkTo = ({ consoleUrl }: Shown, path: string): string | null =>
  consoleUrl === null ? null : `${consoleUrl.replace(/\/$/, '')}/console${path}`;

function shownAlert(message: Extract<Message, { type: 'alert' }>, shown: Shown): ShownMessage {
  const { opened, continuing, resolved } = message;
  const time = timesIn(shown.timeZone);
  const counts = [
    ...(opened.count > 0 ? [`${opened.count} new`] : []),
    ...(continuing.count > 0 ? [`${continuing.count} continuing`] : []),
    ...(resolved.count > 0 ? [`${resolved.count} resolved`] : []),
  ];
  const [only] = [...opened.findings, ...continuing.findings, ...resolved.findings];
  const isOne = opened.count + continuing.count + resolved.count === 1 && only !== undefined;
  const isUrgent = [...opened.findings, ...continuing.findings].some((finding) => finding.isUrgent);
  const section = (heading: string, { findings, count }: SomeFindings, items: (of: Finding) => string[]) =>
    count === 0
      ? []
      : [
          {
            heading,
            items: [
              ...findings.map((finding) => ({ head: headOf(finding), lines: items(finding) })),
              ...(count > findings.length
                ? [{ head: `And ${count - findings.length} more.`, lines: [] }]
                : []),
            ],
          },
        ];
  const lines = (finding: Finding): string[] =>
    [finding.comparison, finding.affects, finding.advice, when(finding, time)].flatMap((text) => text ?? []);
  return {
    title: isOne
      ? `${resolved.count === 1 ? 'Resolved: ' : continuing.count === 1 ? 'Continuing: ' : ''}${only.sentence}`
      : `${counts.join(', ')}`,
    isUrgent,
    sections: [
      ...section('New', opened, lines),
      ...section('Continuing', continuing, lines),
      ...section('Resolved', resolved, (finding) => [when(finding, time)].flatMap((text) => text ?? [])),
    ],
    link: linkTo(shown, '/overview'),
  };
}

const headOf = ({ isUrgent, sentence }: Finding): string => `${isUrgent ? 'Urgent: ' : ''}${sentence}`;

type Time = (instant: string) => string;

const timesIn = (timeZone: string): Time => {
  const format = new Intl.DateTimeFormat('en-GB', {
    ...{ timeZone, day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' },
    timeZoneName: 'short',
  });
  return (instant) => format.format(Date.parse(instant));
};

function when({ since, until }: Finding, time: Time): string | null {
  const parts = [
    ...(since === null ? [] : [`Since ${time(since)}.`]),
    ...(until === null ? [] : [`Until ${time(until)}.`]),
  ];
  return parts.length === 0 ? null : parts.join(' ');
}

const usd = (microUsd: number): string =>
  (microUsd / 1e6).toLocaleString('en-US', { style: 'currency', currency: 'USD' });

function change(now: number, before: number): string {
  if (before === 0) return now === 0 ? 'as in the week before' : 'nothing in the week before';
  const share = (now - before) / before;
  if (Math.abs(share) < 0.005) return `as in the week before`;
  return `${Math.round(Math.abs(share) * 100)}% ${share > 0 ? 'more' : 'less'} than in the week before (${usd(before)})`;
}

function shownReport(message: Extract<Message, { type: 'report' }>, shown: Shown): ShownMessage {
  const { from, to, teams, total } = message;
  const last = new Date(Date.parse(to) - 86_400_000).toISOString().slice(0, 10);
  const unpriced = (count: number): string[] =>
    count === 0
      ? []
      : [`${counted(count, 'request')} without a price ${count === 1 ? 'is' : 'are'} not in it.`];
  return {
    title: `Spend from ${from} to ${last}: ${usd(total.costMicroUsd)}`,
    isUrgent: false,
    sections: [
      {
        heading: null,
        items: [
          {
            head: `${usd(total.costMicroUsd)} for ${counted(total.requests, 'request')}, ${change(total.costMicroUsd, total.previousCostMicroUsd)}`,
            lines: unpriced(total.unpricedRequests),
          },
        ],
      },
      {
        heading: 'By team',
        items:
          teams.length === 0
            ? [{ head: 'No usage in this week.', lines: [] }]
            : teams.map((row) => ({
                head: `${row.team ?? 'Keys without a team'}: ${usd(row.costMicroUsd)}`,
                lines: [
                  `${counted(row.requests, 'request')}, ${change(row.costMicroUsd, row.previousCostMicroUsd)}`,
                  ...unpriced(row.unpricedRequests),
                ],
              })),
      },
    ],
    link: linkTo(shown, `/usage?from=${from}&to=${last}&groupBy=team`),
  };
}
