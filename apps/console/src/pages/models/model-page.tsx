import { Badge, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { LifePage } from '../life/life-page.tsx';
import { Part } from '../life/part.tsx';
import { ModelPanel } from './model-panel.tsx';
import { entryOf, modelsQuery } from './models-query.ts';

/** The life of one model: by the name that callers use, which may come from a pattern, or be configured no more. */
export default function ModelPage() {
  const { id: name = '' } = useParams({ strict: false });
  const models = useQuery(modelsQuery);
  const model = models.data && entryOf(models.data, name);
  return (
    <LifePage
      of={{ group: 'model', value: name }}
      title={name}
      badge={model && <Badge variant="default">{model.kind}</Badge>}
      splits={['channel', 'team', 'keyId', 'endpoint', 'outcome']}
      causesBy="channel"
    >
      <Part title="Routes and price">
        {models.error && <PageFailed error={models.error} reset={() => void models.refetch()} />}
        {model && <ModelPanel of={model} />}
        {models.data && !model && (
          <Text size="sm">The configuration has no such model. Its usage stays on record.</Text>
        )}
        {name.includes('*') && (
          <Text size="sm">This entry is a pattern. Usage is recorded under the names that callers send.</Text>
        )}
      </Part>
    </LifePage>
  );
}
