from marslab.optim.base import RuleOptimizer
