"""Learning to rank with scikit-learn, LightGBM and XGBoost."""
