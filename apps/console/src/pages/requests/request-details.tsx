import { Alert, Anchor, Badge, Group, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Fragment, type ReactNode } from 'react';
import type { ShownRequest } from '../../api/types.ts';
import { CopyField } from '../../parts/copy-field.tsx';
import { DetailsDrawer } from '../../parts/details-drawer.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';
import { timeFormat } from '../../parts/time-zone.ts';
import { Facts, Names } from '../facts.tsx';
import { playgroundViewOf } from '../playground/playground-view.ts';
import { aboutOutcome, OutcomeBadge } from '../traffic/outcome-badge.tsx';
import { ValueLink } from '../traffic/value-link.tsx';
import { Attempts } from './attempts.tsx';
import { ContentSection } from './content/content-section.tsx';
import { CostTable, usedOf } from './cost-table.tsx';
import { Hooks } from './hooks.tsx';
import { requestQuery } from './requests-query.ts';
import { TimeBar } from './time-bar.tsx';

interface RequestDetailsProps {
  readonly id: string;
  /** The request, if a list has it already. */
  readonly known: ShownRequest | undefined;
  readonly onClose: () => void;
}

const exact = timeFormat({
  ...{ day: 'numeric', month: 'short', year: 'numeric' },
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'short' },
});

/** One request: who sent it, what became of it, where its time and its cost came from. */
export function RequestDetails({ id, known, onClose }: RequestDetailsProps) {
  const found = useQuery({ ...requestQuery(id), enabled: known === undefined });
  return (
    <DetailsDrawer
      of={known ?? found.data}
      kind="Request"
      titleOf={({ model }) => model}
      badge={({ outcome }) => <OutcomeBadge of={outcome} />}
      error={found.error}
      onRetry={() => void found.refetch()}
      onClose={onClose}
    >
      {(request) => <Shown of={request} />}
    </DetailsDrawer>
  );
}

/** What its caller named it; each leads to all requests of that name. */
const CALLER_FACTS = [
  ['End user', 'endUser'],
  ['Session', 'session'],
  ['Label', 'label'],
] as const;

/** Where it can be seen, or the id to look for. */
const TraceLink = ({ of: { id, url } }: { of: NonNullable<ShownRequest['trace']> }) =>
  url === null ? (
    <code>{id}</code>
  ) : (
    <Anchor href={url} target="_blank" rel="noreferrer" size="sm">
      View trace
    </Anchor>
  );

function Shown({ of: request }: { of: ShownRequest }) {
  const { keyId, team, channel, requestId, outcome, status, errorCode, trace } = request;
  const playground = playgroundViewOf(request);
  return (
    <Stack>
      {outcome !== 'ok' && (
        <Alert variant="light" color={outcome === 'failed' || outcome === 'cut' ? 'red' : 'orange'}>
          <Text size="sm" c="var(--mantine-color-text)">
            {aboutOutcome(outcome)}
            {errorCode !== null && (
              <>
                {' '}
                Its caller got <code>{[status, errorCode].filter((part) => part !== null).join(' ')}</code>.{' '}
                <PageLink to="/requests" search={{ errorCode }}>
                  View requests with this error
                </PageLink>
              </>
            )}
          </Text>
        </Alert>
      )}
      <CopyField label="Request ID" value={requestId ?? request.id} />
      {playground && (
        <PageLink to="/playground" search={playground}>
          Open in the playground
        </PageLink>
      )}
      <Facts
        of={[
          ['Key', <ValueLink key="key" group="keyId" value={keyId} />],
          ['Team', team === null ? 'none' : <ValueLink key="team" group="team" value={team} />],
          [
            'Model',
            <Fragment key="model">
              <ValueLink group="model" value={request.model} /> →{' '}
              <ValueLink group="channel" value={channel ?? ''} />
            </Fragment>,
          ],
          ['Endpoint', `${request.endpoint}${request.isStreamed ? ', streamed' : ''}`],
          ...(request.isDraft ? ([['Configuration', 'a draft, to try it']] as const) : []),
          ...CALLER_FACTS.flatMap(([label, name]) => {
            const value = request[name];
            if (value === null) return [];
            const link = (
              <PageLink key={name} to="/requests" search={{ [name]: value }}>
                {value}
              </PageLink>
            );
            return [[label, link] as const];
          }),
          ['Started', exact(new Date(request.startedAt))],
          ...(trace === null ? [] : ([['Trace', <TraceLink key="trace" of={trace} />]] as const)),
          ...(requestId === null || requestId === request.id
            ? []
            : ([['Record ID', <code key="id">{request.id}</code>]] as const)),
        ]}
      />
      <Section title="Where the time went">
        <TimeBar of={request} />
      </Section>
      <Section title="Attempts">
        <Attempts of={request} />
      </Section>
      {request.hooks.length > 0 && (
        <Section title="Checks by hooks">
          <Hooks of={request.hooks} />
        </Section>
      )}
      <Section
        title="Usage"
        beside={
          request.estimated && (
            <Badge variant="dot" color="orange">
              estimated, because the provider reported none
            </Badge>
          )
        }
      >
        <Facts of={usedOf(request)} />
      </Section>
      <Section title="Cost">
        <CostTable of={request} />
      </Section>
      <Section title="Content">
        <ContentSection of={request} />
      </Section>
      <Section title="Omitted in translation">
        {request.dropped.length === 0 ? <Text size="sm">Nothing.</Text> : <Names of={request.dropped} />}
      </Section>
    </Stack>
  );
}

function Section({ title, beside, children }: { title: string; beside?: ReactNode; children: ReactNode }) {
  return (
    <section aria-label={title}>
      <Group justify="space-between" mb={6}>
        <Title order={2} size="h5">
          {title}
        </Title>
        {beside}
      </Group>
      {children}
    </section>
  );
}
