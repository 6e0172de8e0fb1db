import { App } from 'aws-cdk-lib';
import { ReadOnlyStack } from './read-only-stack';

const app = new App();

new ReadOnlyStack(app, 'Report', { apiUrl: 'https://api.example.com/v1/orders' });
