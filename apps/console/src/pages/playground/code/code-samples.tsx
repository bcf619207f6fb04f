import { Tabs, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { gatewayQuery } from '../../../api/queries.ts';
import { CopyField } from '../../../parts/copy-field.tsx';
import type { Call } from '../exchange/call.ts';
import { samplesOf } from './samples.ts';

/** The request as a person would write it in a program. */
export function CodeSamples({ of: call }: { of: Call }) {
  const { data: gateway } = useQuery(gatewayQuery);
  const samples = samplesOf(call, (gateway?.publicUrl ?? '').replace(/\/$/, ''));
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
            {needs} It is the request as it was sent; what is encoded, such as a picture, is shortened.
          </Text>
          <CopyField label={`The request in ${language}`} value={text} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
