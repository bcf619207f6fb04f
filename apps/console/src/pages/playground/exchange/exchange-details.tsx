import { Drawer, Tabs, Text } from '@mantine/core';
import { CodeSamples } from '../code/code-samples.tsx';
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
    <Drawer
      opened
      onClose={onClose}
      position="right"
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
          <CodeSamples of={call} />
        </Tabs.Panel>
        <Tabs.Panel value="events">
          <RawEvents of={log} />
        </Tabs.Panel>
      </Tabs>
    </Drawer>
  );
}
