import { Tabs, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { gatewayQuery } from '../../../api/queries.ts';
import { CopyField } from '../../../parts/copy-field.tsx';
import { SideDrawer } from '../../../parts/side-drawer.tsx';
import { samplesOf } from '../code/samples.ts';
import type { Call } from './call.ts';
import type { RunningExchange } from './exchange.ts';
import { RawEvents } from './raw-events.tsx';

export type DetailsView = 'code' | 'events';

interface ExchangeDetailsProps {
  readonly of: RunningExchange<unknown>;
  readonly view: DetailsView;
  readonly onClose: () => void;
}

/** A request as code, and its answer as it came. */
export function ExchangeDetails({ of: { call, log }, view, onClose }: ExchangeDetailsProps) {
  return (
    <SideDrawer
      onClose={onClose}
      size="xl"
      title={
        <Text fw={600} component="span">
          POST {call.path}
        </Text>
      }
    >
      <Tabs defaultValue={view} keepMounted={false}>
        <Tabs.List mb="sm">
          <Tabs.Tab value="code">Code</Tabs.Tab>
          <Tabs.Tab value="events">Raw events</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="code">
          <CodeSamples
            of={call}
            note="It is the request as it was sent; what is encoded, such as a picture, is shortened."
          />
        </Tabs.Panel>
        <Tabs.Panel value="events">
          <RawEvents of={log} />
        </Tabs.Panel>
      </Tabs>
    </SideDrawer>
  );
}

interface CodeSamplesProps {
  readonly of: Call;
  /** The models that it is sent to; absent: its own. */
  readonly models?: readonly string[];
  readonly note: string;
}

/** A request as a person would write it in a program. */
export function CodeSamples({ of: call, models, note }: CodeSamplesProps) {
  const { data: gateway } = useQuery(gatewayQuery);
  const publicUrl = (gateway?.publicUrl ?? '').replace(/\/$/, '');
  const samples = samplesOf(call, { publicUrl, ...(models && { models }) });
  return (
    <Tabs defaultValue="curl" keepMounted={false} variant="pills">
      <Tabs.List mb="sm">
        {samples.map(({ language }) => (
          <Tabs.Tab key={language} value={language}>
            {language}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {samples.map(({ language, needs, text }) => (
        <Tabs.Panel key={language} value={language}>
          <Text size="xs" c="dimmed" mb={6}>
            {needs} {note}
          </Text>
          <CopyField label={`The request in ${language}`} value={text} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
